// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs: what each is told, and how to see that all of it arrived.

use crate::transfers::{OURS, UPLOADS, build_fetch, content, run, words};
use ebb_lab::emulator::Path as LabPath;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Enough for seconds alone, seconds beside others, and some more.
const FILE_BYTES: usize = 9_000_000;

/// What the servers offer.
#[derive(Clone, Debug)]
pub struct Site {
    /// Parent of everything.
    pub root: PathBuf,
    /// The content of `file`, the bulk of whatever is transferred.
    pub file: Vec<u8>,
}

/// A program under test.
pub struct Program {
    pub name: &'static str,
    pub site: Site,
    /// Where it runs and writes.
    pub folder: PathBuf,
    /// What is run, in the client's namespace under `ebb run`; with a server: in the server's
    /// namespace, plain.
    pub command: Vec<String>,
    /// A long-lived server in the client's namespace.
    pub server: Option<Server>,
    /// No Ebb: shows what the test would see if Ebb did nothing.
    pub is_plain: bool,
    /// The command leaves something running that goes on.
    pub is_left_running: bool,
    /// Done before the clock starts, with nothing else on the link.
    pub prepare: Box<dyn Fn(&LabPath) + Send + Sync>,
    /// Whether all is there.
    pub check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// A server that takes uploads, and how it comes under Ebb.
pub enum Server {
    /// It is started by `ebb run`.
    Run(Vec<String>),
    /// It is an nginx that was there before: `ebb attach` makes it yield.
    AttachNginx,
}

impl Site {
    /// Makes the files that the servers offer.
    pub fn make(root: &Path) -> Self {
        let www = root.join("www");
        fs::create_dir_all(&www).unwrap();
        let file = content(2, FILE_BYTES);
        fs::write(www.join("file"), &file).unwrap();
        let large = fs::File::create(www.join("large")).unwrap();
        large.set_len(1 << 30).unwrap();
        let site = Self {
            root: root.to_owned(),
            file,
        };
        site.make_repository();
        site.make_archive();
        site
    }

    /// A repository that any HTTP server can offer.
    fn make_repository(&self) {
        let work = self.root.join("work");
        let bare = self.root.join("www/repository.git");
        let git = |folder: &Path, arguments: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
            command.args(["-c", "init.defaultBranch=main", "-c", "core.compression=0"]);
            run(command.arg("-C").arg(folder).args(arguments));
        };
        fs::create_dir(&work).unwrap();
        git(&work, &["init", "-q"]);
        fs::write(work.join("file"), &self.file).unwrap();
        git(&work, &["add", "file"]);
        git(&work, &["commit", "-q", "-m", "a file"]);
        git(
            &work,
            &["clone", "-q", "--bare", ".", &bare.display().to_string()],
        );
        git(&bare, &["repack", "-q", "-a", "-d"]);
        git(&bare, &["update-server-info"]);
    }

    /// A package archive with one package.
    fn make_archive(&self) {
        let (package, archive) = (self.root.join("package"), self.root.join("www/archive"));
        fs::create_dir_all(package.join("DEBIAN")).unwrap();
        fs::create_dir_all(&archive).unwrap();
        let control = "Package: ebb-example\nVersion: 1\nArchitecture: all\n\
                       Maintainer: Nobody <nobody@example.org>\nDescription: a file\n";
        fs::write(package.join("DEBIAN/control"), control).unwrap();
        fs::write(package.join("file"), &self.file).unwrap();
        let deb = archive.join("ebb-example_1_all.deb");
        run(Command::new("dpkg-deb")
            .args(["-Znone", "--build"])
            .arg(&package)
            .arg(&deb));
        let sum = run(Command::new("sha256sum").arg(&deb));
        let sum = sum.split_whitespace().next().unwrap();
        let size = fs::metadata(&deb).unwrap().len();
        let place = format!("Filename: ./ebb-example_1_all.deb\nSize: {size}\nSHA256: {sum}\n");
        fs::write(archive.join("Packages"), format!("{control}{place}")).unwrap();
    }

    /// A program that writes `file` into its folder.
    fn program(&self, name: &'static str, command: Vec<String>) -> Program {
        let folder = self.root.join(format!("{name}-files"));
        fs::create_dir(&folder).unwrap();
        let (wanted, got) = (self.file.clone(), folder.join("file"));
        Program {
            name,
            site: self.clone(),
            folder,
            command,
            server: None,
            is_plain: false,
            is_left_running: false,
            prepare: Box::new(|_| ()),
            check: Box::new(move || same(&got, &wanted)),
        }
    }
}

/// Every program, and a plain one for comparison.
pub fn all(site: &Site) -> Vec<Program> {
    let url = format!("http://{OURS}/file");
    let curl = words(["curl", "-sS", "--fail", "-o", "file", &url]);
    vec![
        Program {
            is_plain: true,
            ..site.program("plain-curl", curl.clone())
        },
        site.program("curl", curl.clone()),
        site.program("wget", words(["wget", "-q", "-O", "file", &url])),
        site.program("urllib", urllib(&url)),
        git(site),
        site.program("static-binary", static_binary(site)),
        apt(site),
        two_at_once(site),
        Program {
            is_left_running: true,
            ..site.program(
                "forks-and-exits",
                shell(&format!("curl -sS --fail -o file {url} &")),
            )
        },
        upload_to_python(site),
        upload_to_nginx(site),
    ]
}

fn shell(line: &str) -> Vec<String> {
    words(["sh", "-c", line])
}

fn urllib(url: &str) -> Vec<String> {
    let script = format!("import urllib.request as u; u.urlretrieve('{url}', 'file')");
    words(["python3", "-c", &script])
}

fn static_binary(site: &Site) -> Vec<String> {
    let fetch = build_fetch(&site.root);
    let (address, port) = (OURS.ip(), OURS.port());
    shell(&format!(
        "exec {} {address} {port} /file > file",
        fetch.display()
    ))
}

fn git(site: &Site) -> Program {
    let url = format!("http://{OURS}/repository.git");
    let command = words(["git", "clone", "-q", &url, "clone"]);
    let program = site.program("git", command);
    let (wanted, clone) = (site.file.clone(), program.folder.join("clone"));
    let check = move || {
        run(Command::new("git")
            .arg("-C")
            .arg(&clone)
            .args(["fsck", "--full"]));
        same(&clone.join("file"), &wanted)
    };
    Program {
        check: Box::new(check),
        ..program
    }
}

fn apt(site: &Site) -> Program {
    let options = apt_options(site, &site.root.join("apt-files"));
    let apt_get = |verb: &[&str]| {
        let verb = verb.iter().map(|&word| word.to_owned());
        let words = words(["apt-get", "-q"]).into_iter().chain(options.clone());
        words.chain(verb).collect::<Vec<_>>()
    };
    let program = site.program("apt", apt_get(&["download", "ebb-example"]));
    for made in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(program.folder.join(made)).unwrap();
    }
    let update = apt_get(&["update"]);
    let prepare = move |path: &LabPath| {
        run(&mut crate::transfers::program(path.client(), &update));
    };
    let wanted = fs::read(site.root.join("www/archive/ebb-example_1_all.deb")).unwrap();
    let got = program.folder.join("ebb-example_1_all.deb");
    let check = move || same(&got, &wanted);
    Program {
        prepare: Box::new(prepare),
        check: Box::new(check),
        ..program
    }
}

/// apt with a state of its own, that knows no archive but ours.
fn apt_options(site: &Site, folder: &Path) -> Vec<String> {
    let list = site.root.join("sources.list");
    fs::write(
        &list,
        format!("deb [trusted=yes] http://{OURS}/archive ./\n"),
    )
    .unwrap();
    let options = [
        format!("Dir::State={}", folder.join("state").display()),
        format!("Dir::Cache={}", folder.join("cache").display()),
        format!("Dir::Etc::SourceList={}", list.display()),
        "Dir::State::status=/dev/null".into(),
        "Dir::Etc::SourceParts=/dev/null".into(),
        "Dir::Etc::Parts=/dev/null".into(),
        "Acquire::http::Proxy=DIRECT".into(),
        "Acquire::Languages=none".into(),
        "APT::Sandbox::User=root".into(),
    ];
    options
        .into_iter()
        .flat_map(|option| ["-o".into(), option])
        .collect()
}

fn two_at_once(site: &Site) -> Program {
    let half = FILE_BYTES / 2;
    let curl = |range: &str, to| format!("curl -sS --fail -r {range} -o {to} http://{OURS}/file");
    let first = curl(&format!("0-{}", half - 1), "first");
    let line = format!("{first} & {} & wait", curl(&format!("{half}-"), "second"));
    let program = site.program("two-at-once", shell(&line));
    let (wanted, folder) = (site.file.clone(), program.folder.clone());
    let check = move || {
        same(&folder.join("first"), &wanted[..half])?;
        same(&folder.join("second"), &wanted[half..])
    };
    Program {
        check: Box::new(check),
        ..program
    }
}

fn upload(site: &Site) -> Vec<String> {
    let file = site.root.join("www/file").display().to_string();
    words([
        "curl",
        "-sS",
        "--fail",
        "-T",
        &file,
        &format!("http://{UPLOADS}/upload/file"),
    ])
}

fn upload_to_python(site: &Site) -> Program {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers/upload_server.py");
    let (script, address) = (script.display().to_string(), UPLOADS.ip().to_string());
    let port = UPLOADS.port().to_string();
    let server = words(["python3", &script, &address, &port, "."]);
    Program {
        server: Some(Server::Run(server)),
        ..site.program("upload-to-python", upload(site))
    }
}

fn upload_to_nginx(site: &Site) -> Program {
    let program = site.program("upload-to-nginx", upload(site));
    let (wanted, got) = (site.file.clone(), program.folder.join("www/upload/file"));
    let check = Box::new(move || same(&got, &wanted));
    Program {
        server: Some(Server::AttachNginx),
        check,
        ..program
    }
}

fn same(got: &Path, wanted: &[u8]) -> Result<(), String> {
    let content = fs::read(got).map_err(|error| format!("{}: {error}", got.display()))?;
    if content == wanted {
        return Ok(());
    }
    let first = content
        .iter()
        .zip(wanted)
        .position(|(got, wanted)| got != wanted);
    Err(format!(
        "{}: {} of {} bytes, first difference at {first:?}",
        got.display(),
        content.len(),
        wanted.len()
    ))
}
