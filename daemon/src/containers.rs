// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of a container: its name, its image, its labels, as far as its manager has them in
//! files. No socket of a manager is asked, and none of its programs is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::globs::matches;
use crate::rule::ContainerPattern;

/// A file of a manager is not longer.
const MOST_BYTES: u64 = 16 << 20;
/// Digits of an identifier.
const ID_DIGITS: usize = 64;

/// A container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Container {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its image, as its manager names it.
    pub image: Option<String>,
    /// Its labels, or annotations.
    pub labels: BTreeMap<String, String>,
}

impl ContainerPattern {
    /// Whether a container is one of those.
    pub fn holds_for(&self, container: &Container) -> bool {
        let has = |glob: &Option<String>, text: &Option<String>| match (glob, text) {
            (None, _) => true,
            (Some(glob), Some(text)) => matches(glob, text),
            (Some(_), None) => false,
        };
        let has_label = match &self.label {
            None => true,
            Some((key, value)) => container
                .labels
                .get(key)
                .is_some_and(|found| value.as_ref().is_none_or(|wanted| matches(wanted, found))),
        };
        has(&self.name, &container.name) && has(&self.image, &container.image) && has_label
    }
}

/// The identifier in the path of a container's cgroup, or of one below it.
pub fn id_in(path: &Path) -> Option<String> {
    path.iter().find_map(|part| {
        let part = part.to_str()?;
        let part = part.strip_suffix(".scope").unwrap_or(part);
        let id = part.rsplit_once('-').map_or(part, |(_, id)| id);
        let is_id = id.len() == ID_DIGITS && id.bytes().all(|it| it.is_ascii_hexdigit());
        (is_id && !part.contains("conmon")).then(|| id.to_owned())
    })
}

/// Looks for what managers on this machine know of a container, by its identifier. `root` is where
/// their folders begin, `/`.
pub fn find_container(root: &Path, id: &str) -> Option<Container> {
    of_docker(root, id)
        .or_else(|| of_podman(root, id))
        .or_else(|| of_runtime(root, id))
}

fn of_docker(root: &Path, id: &str) -> Option<Container> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Docker {
        name: Option<String>,
        config: Config,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Config {
        image: Option<String>,
        #[serde(default)]
        labels: Option<BTreeMap<String, String>>,
    }
    let path = format!("var/lib/docker/containers/{id}/config.v2.json");
    let docker: Docker = parse(&root.join(path))?;
    Some(Container {
        name: docker
            .name
            .map(|name| name.trim_start_matches('/').to_owned()),
        image: docker.config.image,
        labels: docker.config.labels.unwrap_or_default(),
    })
}

fn of_podman(root: &Path, id: &str) -> Option<Container> {
    #[derive(Deserialize)]
    struct Podman {
        id: String,
        #[serde(default)]
        names: Vec<String>,
        #[serde(default)]
        metadata: String,
    }
    let all = "var/lib/containers/storage/overlay-containers";
    let lists = [
        format!("{all}/containers.json"),
        format!("{all}/volatile-containers.json"),
        "var/lib/containers/storage/vfs-containers/containers.json".to_owned(),
    ];
    let known = lists.iter().filter_map(|list| {
        let known: Vec<Podman> = parse(&root.join(list))?;
        known.into_iter().find(|container| container.id == id)
    });
    let podman = known.into_iter().next()?;
    let metadata: Value = serde_json::from_str(&podman.metadata).unwrap_or_default();
    let text = |key: &str| metadata[key].as_str().map(str::to_owned);
    let labels = annotations(&root.join(format!("{all}/{id}/userdata/config.json")));
    Some(Container {
        name: text("name").or_else(|| podman.names.into_iter().next()),
        image: text("image-name"),
        labels,
    })
}

/// containerd and CRI-O: what is in the bundle of the running container.
fn of_runtime(root: &Path, id: &str) -> Option<Container> {
    let tasks = root.join("run/containerd/io.containerd.runtime.v2.task");
    let namespaces = fs::read_dir(tasks).into_iter().flatten().flatten();
    let of_containerd = namespaces.map(|namespace| namespace.path().join(id));
    let of_crio = root.join(format!(
        "run/containers/storage/overlay-containers/{id}/userdata"
    ));
    let mut bundles = of_containerd.chain([of_crio]);
    let labels = bundles.find_map(|bundle| {
        let labels = annotations(&bundle.join("config.json"));
        (!labels.is_empty()).then_some(labels)
    })?;
    let first = |keys: [&str; 3]| keys.iter().find_map(|key| labels.get(*key).cloned());
    Some(Container {
        name: first([
            "io.kubernetes.cri.container-name",
            "io.kubernetes.cri-o.Name",
            "nerdctl/name",
        ]),
        image: first([
            "io.kubernetes.cri.image-name",
            "io.kubernetes.cri-o.ImageName",
            "nerdctl/image",
        ]),
        labels,
    })
}

/// The annotations of a bundle of the Open Container Initiative.
fn annotations(path: &Path) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Bundle {
        #[serde(default)]
        annotations: BTreeMap<String, String>,
    }
    parse::<Bundle>(path).map_or_else(BTreeMap::new, |bundle| bundle.annotations)
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    let length = fs::metadata(path).ok()?.len();
    let text = (length <= MOST_BYTES).then(|| fs::read(path).ok())??;
    let parsed = serde_json::from_slice(&text);
    parsed
        .map_err(|error| tracing::debug!("{}: {error}", path.display()))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef";

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_identifier_is_found_in_what_managers_call_cgroups() {
        for path in [
            format!("/system.slice/docker-{ID}.scope"),
            format!("/machine.slice/libpod-{ID}.scope/container"),
            format!("/kubepods.slice/pod1/cri-containerd-{ID}.scope"),
            format!("/docker/{ID}"),
        ] {
            assert_eq!(id_in(Path::new(&path)).as_deref(), Some(ID), "{path}");
        }
        let conmon = format!("/machine.slice/libpod-conmon-{ID}.scope");
        assert_eq!(id_in(Path::new(&conmon)), None);
        assert_eq!(id_in(Path::new("/system.slice/cron.service")), None);
    }

    #[test]
    fn docker_podman_and_containerd_are_understood_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(find_container(root, ID), None);
        write(
            root,
            &format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"),
            r#"{"annotations":{"io.kubernetes.cri.container-name":"web",
                "io.kubernetes.cri.image-name":"registry/web:1"}}"#,
        );
        let found = find_container(root, ID).unwrap();
        assert_eq!(found.name.as_deref(), Some("web"));
        assert_eq!(found.image.as_deref(), Some("registry/web:1"));
        write(
            root,
            "var/lib/containers/storage/overlay-containers/containers.json",
            &format!(
                r#"[{{"id":"{ID}","names":["mirror"],
                "metadata":"{{\"image-name\":\"docker.io/library/nginx:latest\",\"name\":\"mirror\"}}"}}]"#
            ),
        );
        let found = find_container(root, ID).unwrap();
        assert_eq!(found.name.as_deref(), Some("mirror"));
        assert_eq!(
            found.image.as_deref(),
            Some("docker.io/library/nginx:latest")
        );
        write(
            root,
            &format!("var/lib/docker/containers/{ID}/config.v2.json"),
            r#"{"Name":"/backup","Config":{"Image":"restic/restic","Labels":{"ebb":"yes"}}}"#,
        );
        let found = find_container(root, ID).unwrap();
        assert_eq!(found.name.as_deref(), Some("backup"));
        let pattern = |name: Option<&str>, label: Option<(&str, Option<&str>)>| ContainerPattern {
            name: name.map(str::to_owned),
            image: Some("restic/*".to_owned()),
            label: label.map(|(key, value)| (key.to_owned(), value.map(str::to_owned))),
        };
        assert!(pattern(Some("back*"), Some(("ebb", None))).holds_for(&found));
        assert!(pattern(None, Some(("ebb", Some("y*")))).holds_for(&found));
        assert!(!pattern(None, Some(("ebb", Some("no")))).holds_for(&found));
        assert!(!pattern(Some("web"), None).holds_for(&found));
    }

    #[test]
    fn what_is_no_json_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = format!("var/lib/docker/containers/{ID}/config.v2.json");
        write(folder.path(), &path, "{\"Name\":");
        assert_eq!(find_container(folder.path(), ID), None);
    }
}
