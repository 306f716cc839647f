// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device for machines without TUN carries TCP whole, both ways.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ebb_lab::namespace::NamespaceHandle;
use ebb_lab::veth::Veth;

const BYTES: usize = 3_000_000;

fn end(address: &str) -> (NamespaceHandle, Veth) {
    let namespace = NamespaceHandle::create().unwrap();
    let device = Veth::create(&namespace, "ebb0").unwrap();
    let lines = format!(
        "link set ebb0 addrgenmode none\nlink set ebb0 up\naddr add {address}/24 dev ebb0\n"
    );
    namespace.ip(&lines).unwrap();
    (namespace, device)
}

/// Carries packets both ways until told to stop; answers how many, and the longest.
fn carry(ends: [Veth; 2], is_over: &AtomicBool) -> (usize, usize) {
    let (mut packets, mut longest) = (0, 0);
    let mut buffer = [0; 4_096];
    while !is_over.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for (from, to) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
            while let Some(length) = from.read(&mut buffer).unwrap() {
                to.write(&buffer[..length]).unwrap();
                (packets, longest) = (packets + 1, longest.max(length));
                is_idle = false;
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    (packets, longest)
}

#[test]
fn tcp_passes_whole_in_packets_of_the_mtu() {
    if !ebb_kernel::requires_root("tcp_passes_whole_in_packets_of_the_mtu") {
        return;
    }
    let (server, server_end) = end("10.77.0.1");
    let (client, client_end) = end("10.77.0.2");
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    let carrying = std::thread::spawn(move || carry([server_end, client_end], &told));
    let listener = server.run_in(|| TcpListener::bind(("10.77.0.1", 80)));
    let listener = listener.unwrap().unwrap();
    let content: Vec<u8> = (0..BYTES).map(|index| (index % 251) as u8).collect();
    let sent = content.clone();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&sent).unwrap();
    });
    let stream = client.run_in(|| TcpStream::connect(("10.77.0.1", 80)));
    let mut received = Vec::new();
    stream.unwrap().unwrap().read_to_end(&mut received).unwrap();
    serving.join().unwrap();
    is_over.store(true, Ordering::Relaxed);
    let (packets, longest) = carrying.join().unwrap();
    assert!(received == content, "{} bytes", received.len());
    assert_eq!(longest, 1_500);
    assert!(packets > BYTES / 1_460, "{packets}");
}
