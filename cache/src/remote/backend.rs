//! The engines: Redis and S3 by opendal, and any HTTP server that takes GET and PUT.
//!
//! A read is bounded: bytes beyond the limit are not asked for, and where the server sends them all the same they are not
//! read.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use http::{Request, StatusCode};
use opendal::raw::{Access, BytesRange, HttpClient, OpRead, oio};
use opendal::{Buffer, ErrorKind, Operator, OperatorBuilder, services};

use crate::store::reason::RemoteMiss;

pub(crate) enum Backend {
    /// Redis, or an S3 store.
    Objects {
        /// For reading: opendal's own layers want to know the length beforehand.
        plain: Box<dyn Plain>,
        operator: Operator,
    },
    /// A plain HTTP server.
    Http {
        client: HttpClient,
        /// With a `/` at its end.
        base: String,
    },
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Objects { .. } => "Objects",
            Backend::Http { .. } => "Http",
        })
    }
}

/// A service without layers, whatever its type.
pub(crate) trait Plain: Send + Sync {
    fn bytes<'a>(&'a self, name: &'a str, most: u64) -> Bytes<'a>;
}

/// The bytes of an object, once they are there.
type Bytes<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, RemoteMiss>> + Send + 'a>>;

impl<A: Access> Plain for Arc<A> {
    fn bytes<'a>(&'a self, name: &'a str, most: u64) -> Bytes<'a> {
        Box::pin(async move {
            let whole = OpRead::new().with_range(BytesRange::new(0, Some(most + 1)));
            let (_, mut reader) = A::read(self, name, whole).await.map_err(miss)?;
            all(&mut reader, most).await
        })
    }
}

/// A part of a URL's query.
fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

impl Backend {
    /// `redis://HOST:PORT/DATABASE?prefix=P`, `s3://BUCKET/PREFIX?endpoint=URL&region=R`, or `http://HOST/PATH`.
    pub(crate) fn open(url: &str, credentials: &[(&'static str, String)]) -> Result<Backend, String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = address.split_once("://").ok_or("no URL, such as redis://127.0.0.1:6379")?;
        let credential = |name: &str| {
            let found = credentials.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| value.as_str())
        };
        let problem = |error: opendal::Error| error.to_string();
        match scheme {
            "redis" | "rediss" | "redis+unix" => {
                let (server, database) = match scheme {
                    "redis+unix" => (rest, parameter(query, "db").unwrap_or("0")),
                    _ => rest.split_once('/').unwrap_or((rest, "0")),
                };
                let database = if database.is_empty() { "0" } else { database };
                let database = database.parse().map_err(|_| "the database is no number")?;
                let (login, server) = server.rsplit_once('@').unwrap_or(("", server));
                let (user, password) = login.split_once(':').unwrap_or(("", login));
                let builder = services::Redis::default()
                    .endpoint(&format!("{scheme}://{server}"))
                    .db(database)
                    .username(user)
                    .password(password)
                    .root(parameter(query, "prefix").unwrap_or("vkfuse"));
                Backend::objects(opendal::Builder::build(builder).map_err(problem)?)
            }
            "s3" => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                let mut builder = services::S3::default()
                    .bucket(bucket)
                    .root(if prefix.is_empty() { "vkfuse" } else { prefix })
                    .region(parameter(query, "region").or(credential("AWS_REGION")).unwrap_or("us-east-1"));
                if let Some(endpoint) = parameter(query, "endpoint").or(credential("AWS_ENDPOINT_URL")) {
                    builder = builder.endpoint(endpoint);
                }
                if let (Some(id), Some(secret)) =
                    (credential("AWS_ACCESS_KEY_ID"), credential("AWS_SECRET_ACCESS_KEY"))
                {
                    builder = builder.access_key_id(id).secret_access_key(secret);
                    builder = builder.disable_config_load().disable_ec2_metadata();
                    if let Some(token) = credential("AWS_SESSION_TOKEN") {
                        builder = builder.session_token(token);
                    }
                }
                let access = opendal::Builder::build(builder).map_err(problem)?;
                let client = client()?;
                access.info().update_http_client(|_| client);
                Backend::objects(access)
            }
            "http" | "https" => {
                let base = format!("{}/", url.trim_end_matches('/'));
                Ok(Backend::Http { client: client()?, base })
            }
            _ => Err(format!("{scheme} is none of redis, s3 and http")),
        }
    }

    fn objects(access: impl Access) -> Result<Backend, String> {
        let access = Arc::new(access);
        let operator = OperatorBuilder::new(Arc::clone(&access)).finish();
        Ok(Backend::Objects { plain: Box::new(access), operator })
    }

    /// The bytes of an object.
    pub(crate) async fn read(&self, name: &str, most: u64) -> Result<Vec<u8>, RemoteMiss> {
        match self {
            Backend::Objects { plain, .. } => {
                let bytes = plain.bytes(name, most).await?;
                // Redis gives no bytes of what it has not; an object always has some.
                if bytes.is_empty() { Err(RemoteMiss::Absent) } else { Ok(bytes) }
            }
            Backend::Http { client, base } => {
                let request = Request::get(format!("{base}{name}"));
                let request = request.body(Buffer::new()).map_err(|_| RemoteMiss::Failed)?;
                let response = client.fetch(request).await.map_err(miss)?;
                match response.status() {
                    StatusCode::OK => {}
                    StatusCode::NOT_FOUND | StatusCode::GONE => return Err(RemoteMiss::Absent),
                    _ => return Err(RemoteMiss::Failed),
                }
                all(&mut response.into_body(), most).await
            }
        }
    }

    /// Puts an object in the place of what is there.
    pub(crate) async fn write(&self, name: &str, bytes: Vec<u8>) -> Result<(), RemoteMiss> {
        match self {
            Backend::Objects { operator, .. } => {
                operator.write(name, bytes).await.map_err(miss)?;
                Ok(())
            }
            Backend::Http { client, base } => {
                let request = Request::put(format!("{base}{name}")).header("content-length", bytes.len());
                let request = request.body(Buffer::from(bytes)).map_err(|_| RemoteMiss::Failed)?;
                let response = client.fetch(request).await.map_err(miss)?;
                if response.status().is_success() { Ok(()) } else { Err(RemoteMiss::Failed) }
            }
        }
    }
}

/// A client with connections of its own. The one that opendal gives is the whole process's: of its connections some are driven
/// by the runtime of another store, and end with that one, with the request that was given to them.
fn client() -> Result<HttpClient, String> {
    let client = reqwest::Client::builder().build().map_err(|error| error.to_string())?;
    Ok(HttpClient::with(client))
}

fn miss(error: opendal::Error) -> RemoteMiss {
    match error.kind() {
        ErrorKind::NotFound => RemoteMiss::Absent,
        _ => RemoteMiss::Failed,
    }
}

/// All bytes of a body, unless there are more than this many.
async fn all(reader: &mut impl oio::Read, most: u64) -> Result<Vec<u8>, RemoteMiss> {
    let mut bytes = Vec::new();
    loop {
        let more = reader.read().await.map_err(miss)?;
        if more.is_empty() {
            return Ok(bytes);
        }
        if (bytes.len() + more.len()) as u64 > most {
            return Err(RemoteMiss::TooLarge);
        }
        for piece in more {
            bytes.extend_from_slice(&piece);
        }
    }
}
