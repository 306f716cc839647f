// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A real nginx with a configuration and folders of its own.

use super::{Error, ends_with_its_parent};
use crate::namespace::NamespaceHandle;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const START_LIMIT: Duration = Duration::from_secs(5);

/// Where Debian keeps nginx; `/usr/sbin` is not in every user's path.
const PROGRAMS: [&str; 2] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx"];

/// A running nginx; it ends when this is dropped.
#[derive(Debug)]
pub struct Nginx {
    child: Child,
    own: PathBuf,
}

impl Nginx {
    /// Starts nginx in `namespace`, listening at `addresses`, its own files in
    /// `folder/<name>`.
    ///
    /// It serves what is in `folder/www` and accepts uploads (PUT) to `/upload/`. Returns
    /// once it accepts connections.
    ///
    /// *Errors:* nginx is not installed, refuses its configuration or does not come up; its
    /// own words are part of the message.
    pub fn start(
        namespace: &NamespaceHandle,
        addresses: &[SocketAddr],
        folder: &Path,
        name: &str,
    ) -> Result<Self, Error> {
        let program = PROGRAMS
            .iter()
            .find(|program| Path::new(program).exists())
            .ok_or_else(|| Error::Missing {
                program: "nginx".into(),
                package: "nginx-light".into(),
            })?;
        let own = folder.join(name);
        for needed in [folder.join("www/upload"), own.join("temp")] {
            std::fs::create_dir_all(&needed).map_err(Error::io(needed.display()))?;
        }
        let configuration = own.join("nginx.conf");
        std::fs::write(&configuration, configure(addresses, folder, &own))
            .map_err(Error::io(configuration.display()))?;
        let child = ends_with_its_parent(namespace.command(program))
            .arg("-e")
            .arg(own.join("error.log"))
            .arg("-p")
            .arg(&own)
            .arg("-c")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io(program))?;
        let mut nginx = Self { child, own };
        for &address in addresses {
            nginx.wait_until_ready(namespace, address)?;
        }
        Ok(nginx)
    }

    /// Process number, for whoever wants to act on the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(
        &mut self,
        namespace: &NamespaceHandle,
        address: SocketAddr,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let knock = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok();
        while started.elapsed() < START_LIMIT {
            if namespace.run_in(knock)? {
                return Ok(());
            }
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return Err(self.failure("ended at once"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(self.failure("does not accept connections"))
    }

    fn failure(&self, what: &str) -> Error {
        let log = std::fs::read_to_string(self.own.join("error.log")).unwrap_or_default();
        let words = log
            .lines()
            .last()
            .unwrap_or("it left no message")
            .to_owned();
        Error::Failed {
            program: "nginx".into(),
            problem: format!("{what}: {words}"),
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Already ended is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One process without a master: nothing is left behind when it is killed. As root it would give
/// its folders to somebody else, who does not exist in an ordinary user's namespace.
fn configure(addresses: &[SocketAddr], folder: &Path, own: &Path) -> String {
    let listen: String = addresses
        .iter()
        .map(|address| format!("        listen {address};\n"))
        .collect();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("    {kind}_temp_path {}/temp/{kind};\n", own.display()))
        .collect();
    let (folder, own) = (folder.display(), own.display());
    format!(
        "user root root;
daemon off;
master_process off;
pid {own}/nginx.pid;
error_log {own}/error.log warn;
events {{ worker_connections 512; }}
http {{
{temporary}    access_log off;
    default_type application/octet-stream;
    types {{ text/html html; text/css css; text/javascript js; image/webp webp; }}
    sendfile on;
    client_max_body_size 0;
    server {{
{listen}        root {folder}/www;
        location /upload/ {{ dav_methods PUT; create_full_put_path on; }}
    }}
}}
"
    )
}
