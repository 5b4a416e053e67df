//! The servers: Debian's `redis-server`, `moto_server` for S3, and a process of this test for HTTP.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opendal::raw::HttpClient;
use opendal::{Buffer, Operator, services};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Redis,
    /// With room for little.
    FullRedis,
    S3,
    Http,
}

pub(crate) struct Server {
    engine: Engine,
    child: Option<Child>,
    url: String,
    port: u16,
    runtime: tokio::runtime::Runtime,
    sound: HashMap<String, Vec<u8>>,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// `None` where the program is not installed.
    pub(crate) fn start(engine: Engine, folder: &Path) -> Option<Server> {
        let port = free_port();
        let number = port.to_string();
        let mut command = match engine {
            Engine::Redis | Engine::FullRedis => {
                let mut command = Command::new("redis-server");
                command.args(["--bind", "127.0.0.1", "--port", &number, "--save", "", "--appendonly", "no"]);
                if engine == Engine::FullRedis {
                    command.args(["--maxmemory", "1800kb", "--maxmemory-policy", "noeviction"]);
                }
                command
            }
            Engine::S3 => {
                let mut command = Command::new("moto_server");
                command.args(["-H", "127.0.0.1", "-p", &number]);
                command
            }
            Engine::Http => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "server::serve", "--nocapture"]).env(SERVE, &number);
                command
            }
        };
        let child = command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let url = match engine {
            Engine::Redis | Engine::FullRedis => format!("redis://127.0.0.1:{port}"),
            Engine::S3 => format!("s3://fleet?endpoint=http://127.0.0.1:{port}&region=us-east-1"),
            Engine::Http => format!("http://127.0.0.1:{port}/vkfuse"),
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut server = Server { engine, child: Some(child), url, port, runtime, sound: HashMap::new() };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            // A program that starts others, such as one of Python's, may find that there is none.
            let ended = server.child.as_mut().unwrap().try_wait().unwrap();
            if ended.is_some() || start.elapsed() > Duration::from_secs(120) {
                return None;
            }
            thread::sleep(Duration::from_millis(20));
        }
        if engine == Engine::S3 {
            server.send("PUT", "fleet", Vec::new());
        }
        Some(server)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn signal(&self, signal: libc::c_int) {
        let child = self.child.as_ref().unwrap().id();
        #[allow(unsafe_code, reason = "there is no safe kill")]
        // SAFETY: a child of this process that no one has waited for yet.
        let result = unsafe { libc::kill(child as libc::pid_t, signal) };
        assert_eq!(result, 0);
    }

    pub(crate) fn pause(&self) {
        self.signal(libc::SIGSTOP);
    }

    pub(crate) fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn operator(&self) -> Operator {
        let finish = |built: opendal::Result<Operator>| built.unwrap();
        match self.engine {
            Engine::S3 => finish(
                Operator::new(
                    services::S3::default()
                        .bucket("fleet")
                        .root("vkfuse")
                        .region("us-east-1")
                        .endpoint(&format!("http://127.0.0.1:{}", self.port))
                        .access_key_id("fleet")
                        .secret_access_key("fleet")
                        .disable_config_load(),
                )
                .map(|builder| builder.finish()),
            ),
            _ => finish(
                Operator::new(services::Redis::default().endpoint(&self.url).root("vkfuse"))
                    .map(|builder| builder.finish()),
            ),
        }
    }

    fn send(&self, method: &str, path: &str, bytes: Vec<u8>) -> Vec<u8> {
        self.runtime.block_on(async {
            let request = http::Request::builder()
                .method(method)
                .uri(format!("http://127.0.0.1:{}/{path}", self.port))
                .header("content-length", bytes.len());
            let client = HttpClient::new().unwrap();
            let response = client.send(request.body(Buffer::from(bytes)).unwrap()).await.unwrap();
            assert!(response.status().is_success(), "{method} {path}: {}", response.status());
            response.into_body().to_vec()
        })
    }

    /// Puts an object in the place of what is there.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        match self.engine {
            Engine::Http => drop(self.send("PUT", &format!("vkfuse/{name}"), bytes)),
            _ => drop(self.runtime.block_on(async { self.operator().write(name, bytes).await.unwrap() })),
        }
    }

    fn get(&self, name: &str) -> Vec<u8> {
        match self.engine {
            Engine::Http => self.send("GET", &format!("vkfuse/{name}"), Vec::new()),
            _ => self.runtime.block_on(async { self.operator().read(name).await.unwrap().to_vec() }),
        }
    }

    /// Remembers what is there now.
    pub(crate) fn keep_sound(&mut self) {
        let name = format!("v1/{:#}.bin", crate::machine::key(0).id());
        let bytes = self.get(&name);
        self.sound.insert(name, bytes);
    }

    /// What was there then.
    pub(crate) fn sound(&self, name: &str) -> Vec<u8> {
        self.sound[name].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

const SERVE: &str = "VKFUSE_TEST_SERVE";

/// A server that takes GET and PUT and keeps everything; does nothing when run as a test.
#[test]
fn serve() {
    let Ok(port) = std::env::var(SERVE) else { return };
    let objects = Arc::<Mutex<HashMap<String, Vec<u8>>>>::default();
    let listener = TcpListener::bind(("127.0.0.1", port.parse().unwrap())).unwrap();
    for stream in listener.incoming().flatten() {
        let objects = Arc::clone(&objects);
        thread::spawn(move || answer(stream, &objects));
    }
}

fn answer(stream: TcpStream, objects: &Mutex<HashMap<String, Vec<u8>>>) -> std::io::Result<()> {
    let mut from = BufReader::new(stream.try_clone()?);
    let mut to = stream;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut length = 0;
        loop {
            let mut header = String::new();
            from.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        from.read_exact(&mut body)?;
        let (status, body) = match method.as_str() {
            "PUT" => {
                objects.lock().unwrap().insert(path, body);
                ("201 Created", Vec::new())
            }
            _ => match objects.lock().unwrap().get(&path) {
                Some(object) => ("200 OK", object.clone()),
                None => ("404 Not Found", Vec::new()),
            },
        };
        // In one piece, for the second would wait for the other side's word about the first.
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        to.write_all(&[head.as_bytes(), &body].concat())?;
    }
}
