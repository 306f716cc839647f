// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of a container: its name, its image, its labels, as far as its manager has them in
//! files. No socket of a manager is asked, and none of its programs is run.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::globs::matches;
use crate::rule::ContainerPattern;

/// A file of a manager is not longer.
const MOST_BYTES: u64 = 16 << 20;
/// Digits of an identifier.
const ID_DIGITS: usize = 64;
/// Where Podman has what it knows, if root runs it.
const PODMAN: &str = "var/lib/containers/storage";
/// Where Podman has the cgroups of pods.
const PARENT_OF_PODS: &str = "libpod_parent";

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

/// Whether a cgroup that is called as a container's is a pod's of Podman, where Podman does without
/// systemd.
pub fn is_pod(path: &Path) -> bool {
    let parent = path.parent();
    let has_bare_name = id_of(path.file_name()).is_some_and(|id| path.ends_with(id));
    has_bare_name && parent.is_some_and(|parent| parent.ends_with(PARENT_OF_PODS))
}

/// The identifier in the name of a container's cgroup.
fn id_of(name: Option<&OsStr>) -> Option<&str> {
    let name = name?.to_str()?;
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let id = name.rsplit_once('-').map_or(name, |(_, id)| id);
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|it| it.is_ascii_hexdigit());
    (is_id && !name.contains("conmon")).then_some(id)
}

/// What managers on this machine have written down, as it is at one moment: of what many containers
/// share a file is read once.
#[derive(Debug)]
pub struct Managers {
    /// Where their folders begin.
    root: PathBuf,
    podman: OnceCell<BTreeMap<String, OfPodman>>,
}

/// A container in Podman's lists.
#[derive(Debug, Deserialize)]
struct OfPodman {
    id: String,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    metadata: String,
    /// Where it is listed.
    #[serde(skip)]
    folder: PathBuf,
}

impl Managers {
    /// Nothing is read yet. `root` is where the managers' folders begin, `/`.
    pub fn below(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            podman: OnceCell::new(),
        }
    }

    /// What is known of the container whose cgroup this is, or is below: of the innermost of which
    /// something is. Around it may be a pod, or a container that it runs in.
    pub fn find_for(&self, cgroup: &Path) -> Option<Container> {
        let mut ids = cgroup.iter().rev().filter_map(|part| id_of(Some(part)));
        ids.find_map(|id| self.find(id))
    }

    fn find(&self, id: &str) -> Option<Container> {
        of_docker(&self.root, id)
            .or_else(|| self.of_podman(id))
            .or_else(|| of_runtime(&self.root, id))
    }

    fn of_podman(&self, id: &str) -> Option<Container> {
        let known = self.podman.get_or_init(|| lists_of_podman(&self.root));
        let podman = known.get(id)?;
        let metadata: Value = serde_json::from_str(&podman.metadata).unwrap_or_default();
        let text = |key: &str| {
            let text = metadata[key].as_str().filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let bundle = podman.folder.join(id).join("userdata/config.json");
        Some(Container {
            name: text("name").or_else(|| podman.names.first().cloned()),
            image: text("image-name"),
            labels: annotations(&bundle),
        })
    }
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

fn lists_of_podman(root: &Path) -> BTreeMap<String, OfPodman> {
    let mut known = BTreeMap::new();
    for folder in ["overlay-containers", "vfs-containers"] {
        for list in ["containers.json", "volatile-containers.json"] {
            let folder = root.join(PODMAN).join(folder);
            let listed: Vec<OfPodman> = parse(&folder.join(list)).unwrap_or_default();
            known.extend(listed.into_iter().map(|mut podman| {
                podman.folder.clone_from(&folder);
                (podman.id.clone(), podman)
            }));
        }
    }
    known
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
        for name in [
            format!("docker-{ID}.scope"),
            format!("libpod-{ID}.scope"),
            format!("libpod-payload-{ID}"),
            format!("cri-containerd-{ID}.scope"),
            ID.to_owned(),
        ] {
            assert_eq!(id_of(Some(OsStr::new(&name))), Some(ID), "{name}");
        }
        for name in [&format!("libpod-conmon-{ID}.scope"), "cron.service"] {
            assert_eq!(id_of(Some(OsStr::new(name))), None, "{name}");
        }
    }

    #[test]
    fn in_pods_and_in_one_another_the_innermost_container_that_is_known_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let pod = ID.replace('3', "4");
        let path = format!("var/lib/docker/containers/{ID}/config.v2.json");
        write(root, &path, r#"{"Name":"/web","Config":{"Image":"web"}}"#);
        let name_for = |cgroup: String| {
            let found = Managers::below(root).find_for(Path::new(&cgroup));
            found.and_then(|container| container.name)
        };
        let web = Some("web".to_owned());
        assert_eq!(name_for(format!("/libpod_parent/{pod}/libpod-{ID}")), web);
        assert_eq!(name_for(format!("/docker/{ID}/docker/{pod}")), web);
        assert_eq!(name_for(format!("/x/docker-{ID}.scope/init")), web);
        assert_eq!(name_for(format!("/docker/{pod}")), None);

        assert!(is_pod(Path::new(&format!("/x/libpod_parent/{pod}"))));
        for container in [
            format!("/libpod_parent/libpod-{ID}"),
            format!("/libpod_parent/{pod}/libpod-{ID}"),
            format!("/docker/{ID}"),
        ] {
            assert!(!is_pod(Path::new(&container)), "{container}");
        }
    }

    #[test]
    fn docker_podman_and_containerd_are_understood_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(Managers::below(root).find(ID), None);
        write(
            root,
            &format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"),
            r#"{"annotations":{"io.kubernetes.cri.container-name":"web",
                "io.kubernetes.cri.image-name":"registry/web:1"}}"#,
        );
        let found = Managers::below(root).find(ID).unwrap();
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
        let found = Managers::below(root).find(ID).unwrap();
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
        let found = Managers::below(root).find(ID).unwrap();
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
        assert_eq!(Managers::below(folder.path()).find(ID), None);
    }
}
