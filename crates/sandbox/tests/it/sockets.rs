//! The network, and other programs' sockets.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};

use crate::scene::{each, no_python};

/// Families of sockets with a type that the system has for them: by number, as not every Python names all.
const FAMILIES: &str = "
families = {'unix': (1, 1), 'unix-datagram': (1, 2), 'inet': (2, 1), 'udp': (2, 2), 'inet6': (10, 1), 'udp6': (10, 2),
    'raw': (2, 3), 'netlink': (16, 3), 'packet': (17, 3), 'bluetooth': (31, 3), 'alg': (38, 5), 'vsock': (40, 1),
    'xdp': (44, 3), 'sctp': (2, 5), 'tipc': (30, 1), 'can': (29, 3)}
def tried(names): return ' '.join(attempt(lambda: socket.socket(*families[name]).close()) for name in names)
";

#[test]
fn with_the_network_closed_there_is_no_socket_of_any_kind() {
    if no_python() {
        return;
    }
    each(|scene| {
        scene.says(&[], &format!("{FAMILIES}print(set(tried(families).split()))"), "{'EPERM'}");
    });
}

#[test]
fn nobody_who_listens_is_reached() {
    if no_python() {
        return;
    }
    each(|scene| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
        let line = format!("exec 3<> /dev/tcp/127.0.0.1/{tcp_port}; echo x > /dev/udp/127.0.0.1/{udp_port}");
        assert_ne!(scene.run(&[], &["bash", "-c", &line]).code, 0);
        assert!(tcp.accept().is_err());
        assert!(udp.recv(&mut [0; 8]).is_err());
        // With the network it goes through, so the test would see it.
        assert_eq!(scene.run(&["--network"], &["bash", "-c", &line]).code, 0);
        assert!(tcp.accept().is_ok());
        assert!(udp.recv(&mut [0; 8]).is_ok());
    });
}

#[test]
fn with_the_network_open_there_are_streams_and_datagrams_and_nothing_else() {
    if no_python() {
        return;
    }
    each(|scene| {
        let good = "print(tried(['inet', 'udp', 'inet6', 'udp6']), attempt(lambda: socket.socket(16, 3, 0).close()))";
        scene.says(&["--network"], &format!("{FAMILIES}{good}"), "done done done done done");
        let bad = "others = set(families) - {'inet', 'udp', 'inet6', 'udp6', 'netlink'}
print(set(tried(others).split()), attempt(lambda: socket.socket(16, 3, 9).close()))";
        scene.says(&["--network"], &format!("{FAMILIES}{bad}"), "{'EPERM'} EPERM");
    });
}

#[test]
fn pairs_of_sockets_work_and_cannot_be_turned_to_others() {
    if no_python() {
        return;
    }
    each(|scene| {
        let path = scene.path("outside/log");
        let log = UnixDatagram::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        log.set_nonblocking(true).unwrap();
        let stream = scene.path("outside/stream");
        let _server = UnixListener::bind(&stream).unwrap();
        std::fs::set_permissions(&stream, std::fs::Permissions::from_mode(0o777)).unwrap();
        let text = format!(
            "
a, b = socket.socketpair()
a.send(b'x')
print(b.recv(1), attempt(lambda: a.connect('{1}')), attempt(lambda: socket.socketpair(1, 5)))
def datagrams():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.sendto(b'x', '{0}')
print(attempt(datagrams))
",
            path.display(),
            stream.display()
        );
        let got = scene.python(&[], &text);
        assert_eq!(got.out, "b'x' EISCONN done\nEPERM", "{}", got.err);
        assert!(log.recv(&mut [0; 8]).is_err());
    });
}

#[test]
fn sockets_with_a_path_are_for_who_was_given_one() {
    if no_python() {
        return;
    }
    each(|scene| {
        let path = scene.path("outside/server");
        let server = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        server.set_nonblocking(true).unwrap();
        let text = format!("print(attempt(lambda: socket.socket(socket.AF_UNIX).connect('{}')))", path.display());
        scene.says(&[], &text, "EPERM");
        scene.says(&["--network"], &text, "EPERM");
        assert!(server.accept().is_err());
        scene.says(&["--socket", path.to_str().unwrap()], &text, "done");
        assert!(server.accept().is_ok());
    });
}

#[test]
fn sockets_without_a_path_are_not_reached() {
    use std::os::linux::net::SocketAddrExt;

    if no_python() {
        return;
    }
    each(|scene| {
        let name = format!("haft-test-{}-{}", std::process::id(), scene.by_root());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let server = UnixListener::bind_addr(&address).unwrap();
        server.set_nonblocking(true).unwrap();
        let text = format!("print(attempt(lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}')))");
        // Even with sockets to other programs.
        scene.says(&["--socket", "/nowhere"], &text, "EPERM");
        assert!(server.accept().is_err());
        let free = scene.free_python(&text);
        assert_eq!(free.out, "done", "{}", free.err);
    });
}
