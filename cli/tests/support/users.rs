// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ordinary users of a service.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use ebb_kernel::cgroup::Cgroup;
use serde_json::{Value, json};

use super::serving::{Scene, Service};
use super::{stderr, stdout};

/// Two users; nobody is called so where anybody has a name.
pub const ADA: u32 = 65_534;
pub const BOB: u32 = 65_533;

/// Root, asking as a user does.
pub const ROOT: u32 = 0;

/// A service, and users with a cgroup and a runtime directory each.
pub struct Users {
    pub scene: Scene,
    /// Everybody can look into it.
    place: tempfile::TempDir,
}

impl Users {
    pub fn new(test: &str) -> Self {
        let users = Self {
            scene: Scene::new(test),
            place: tempfile::tempdir().unwrap(),
        };
        fs::set_permissions(users.place.path(), Permissions::from_mode(0o755)).unwrap();
        for user in [ADA, BOB, ROOT] {
            fs::create_dir(users.runtime(user)).unwrap();
            chown(users.runtime(user), Some(user), Some(user)).unwrap();
            let cgroup = users.cgroup(user);
            let cgroup = users.scene.cgroup.create_child(&cgroup).unwrap();
            for file in ["", "cgroup.procs"] {
                let path = cgroup.directory_path().join(file);
                chown(path, Some(user), Some(user)).unwrap();
            }
        }
        users
    }

    pub fn socket(&self) -> PathBuf {
        self.place.path().join("socket")
    }

    fn runtime(&self, user: u32) -> PathBuf {
        self.place.path().join(user.to_string())
    }

    fn cgroup(&self, user: u32) -> String {
        format!("user-{user}")
    }

    /// The cgroup that was delegated to a user.
    pub fn own_cgroup(&self, user: u32) -> Cgroup {
        Cgroup::at(self.scene.cgroup.path().join(self.cgroup(user))).unwrap()
    }

    /// Says what users may.
    pub fn set(&self, settings: &str) {
        let folder = self.scene.rules.path().join("settings");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ebbd.toml"), settings).unwrap();
    }

    /// Returns when the service is ready.
    pub fn serve(&self) -> Service {
        let below = self.scene.cgroup.path().display().to_string();
        let folder = self.scene.folder();
        let arguments = ["daemon", "--rules", &folder, "--below", &below];
        let mut command = self.scene.ebb.command(arguments);
        Service::start(command.env("EBB_SERVICE_SOCKET", self.socket()))
    }

    /// A program as this user, in the user's cgroup; who is not root has no capability.
    pub fn command(&self, user: u32, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command
            .arg(format!("--reuid={user}"))
            .arg(format!("--regid={user}"))
            .args(["--clear-groups", "--inh-caps=-all"])
            .args((user != ROOT).then_some("--bounding-set=-all"))
            .arg("--")
            .arg(program)
            .env("EBB_RUNTIME_DIR", self.runtime(user))
            .env("EBB_SERVICE_SOCKET", self.socket())
            .env_remove("EBB_LOG")
            .current_dir("/");
        let procs = self.own_cgroup(user).directory_path().join("cgroup.procs");
        let enter = move || fs::write(&procs, "0");
        // SAFETY: there is a single thread in the child, which makes system calls.
        unsafe { command.pre_exec(enter) };
        command
    }

    /// `ebb` as this user.
    pub fn ebb<const N: usize>(&self, user: u32, arguments: [&str; N]) -> Command {
        let mut command = self.command(user, env!("CARGO_BIN_EXE_ebb"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub fn output<const N: usize>(&self, user: u32, arguments: [&str; N]) -> Output {
        self.ebb(user, arguments).output().unwrap()
    }

    /// What `ebb` prints for a user; it must succeed.
    pub fn says<const N: usize>(&self, user: u32, arguments: [&str; N]) -> String {
        let output = self.output(user, arguments);
        let error = stderr(&output);
        assert!(output.status.success(), "{arguments:?}: {error}");
        stdout(&output)
    }

    /// What a user sees, with the connections.
    pub fn sees(&self, user: u32) -> Vec<Value> {
        let text = self.says(user, ["status", "--flows", "--json"]);
        serde_json::from_str(&text).unwrap()
    }

    /// The same of root.
    pub fn root_sees(&self) -> Vec<Value> {
        let arguments = ["status", "--flows", "--json"];
        let mut command = self.scene.ebb.command(arguments);
        let output = command.env("EBB_SERVICE_SOCKET", self.socket()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    }

    /// A connection of a thread of a user's own, to the service.
    pub fn connect(&self, user: u32) -> io::Result<UnixStream> {
        as_user(user, || UnixStream::connect(self.socket()))
    }

    /// What the service answers to a message of a user's.
    pub fn ask(&self, user: u32, message: &Value) -> Value {
        let frame = json!({"ebb": 1, "message": message});
        let mut stream = self.connect(user).unwrap();
        stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told:?}"));
        told["message"].clone()
    }
}

/// Does something as a user, in a thread of its own: the kernel knows users of threads.
pub fn as_user<T: Send>(user: u32, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let acting = scope.spawn(|| {
            // SAFETY: plain numbers; it concerns this thread alone.
            let done = unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) };
            assert_eq!(done, 0, "{}", io::Error::last_os_error());
            act()
        });
        acting.join().unwrap()
    })
}
