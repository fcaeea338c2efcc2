// The inner loop of load-process.ts: POST /plants over keep-alive connections, each after its last answer and no more often than it
// should, compiled by Bun's own C compiler, so that it needs none on the machine. In TypeScript it used 0.7 of a core, which on two
// cores the server lost. Linux only, and without headers, since those need not be installed either.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef struct { long seconds, nanoseconds; } Time;
typedef struct { u16 family, port; u32 address; u8 zero[8]; } Address;
typedef struct { u32 events; u64 client; }
#ifdef __x86_64__
__attribute__((packed))
#endif
Event;

int socket(int, int, int);
int connect(int, const void *, u32);
int setsockopt(int, int, int, const void *, u32);
long send(int, const void *, unsigned long, int);
long recv(int, void *, unsigned long, int);
int close(int);
int epoll_create1(int);
int epoll_ctl(int, int, int, void *);
int epoll_wait(int, void *, int, int);
int clock_gettime(int, Time *);
void *calloc(unsigned long, unsigned long);
void free(void *);
void *memcpy(void *, const void *, unsigned long);
void *memmem(const void *, unsigned long, const void *, unsigned long);
unsigned long strlen(const char *);
int memcmp(const void *, const void *, unsigned long);

enum { responseBytesMax = 16384, eventsMax = 256, bucketUs = 10, bucketsMax = 200000, drainUsMax = 60000000 };
typedef struct { int socket; u32 received; u64 sentUs; char response[responseBytesMax]; } Client;

static const char *tags[] = {"indoor", "outdoor", "herb", "tree", "succulent", "fern", "rare", "balcony"};
static u64 mixed;

static u64 nowUs(void) {
  Time time;
  clock_gettime(1, &time);
  return (u64)time.seconds * 1000000 + time.nanoseconds / 1000;
}

static char *putText(char *at, const char *text) {
  unsigned long length = strlen(text);
  memcpy(at, text, length);
  return at + length;
}

static char *putNumber(char *at, i64 number) {
  char digits[24];
  int length = 0;
  u64 left = number < 0 ? 0 - (u64)number : (u64)number;
  if (number < 0) *at++ = '-';
  do digits[length++] = '0' + left % 10; while ((left /= 10) > 0);
  while (length > 0) *at++ = digits[--length];
  return at;
}

static char *putHex(char *at, u64 number) {
  for (int shift = 60; shift >= 0; shift -= 4) *at++ = "0123456789abcdef"[(number >> shift) & 15];
  return at;
}

// As a proxy or a tracer adds them: different in every request.
static char *putTraceHeaders(char *at) {
  mixed = mixed * 6364136223846793005ULL + 1442695040888963407ULL;
  at = putHex(putText(at, "X-Request-Id: "), mixed);
  at = putHex(putHex(putText(at, "\r\ntraceparent: 00-"), mixed), ~mixed);
  at = putHex(putText(at, "-"), mixed >> 7);
  return putText(at, "-01\r\n");
}

static int sendPlant(Client *client, const char *head, const char *open, i64 number, int isRandom, int differing, u64 atUs) {
  char body[256], request[4096];
  char *end = putNumber(putText(body, open), isRandom ? (i64)((u64)number * 0x9e3779b97f4a7c15ULL) : number);
  end = putNumber(putText(end, ",\"name\":\"Fern number "), number);
  end = putText(putText(putText(end, "\",\"tag\":\""), tags[number & 7]), "\"}");
  char *at = putText(request, head);
  if (differing) at = putTraceHeaders(at);
  at = putText(putNumber(putText(at, "Content-Length: "), end - body), "\r\n\r\n");
  memcpy(at, body, end - body);
  at += end - body;
  client->sentUs = atUs;
  return send(client->socket, request, at - request, 0) == at - request;
}

static int isWhole(Client *client) {
  char *end = memmem(client->response, client->received, "\r\n\r\n", 4);
  if (end == 0) return 0;
  char *length = memmem(client->response, end - client->response, "ontent-", 7);
  while (length != 0 && (length[7] | 32) != 'l') length = memmem(length + 7, end - length - 7, "ontent-", 7);
  if (length == 0) return memcmp(client->response + client->received - 5, "0\r\n\r\n", 5) == 0;
  u32 bytes = 0;
  for (length += 14; *length == ' '; length++) {}
  for (; *length >= '0' && *length <= '9'; length++) bytes = bytes * 10 + (*length - '0');
  return client->received >= (end + 4 - client->response) + bytes;
}

static int openClient(Client *client, int port) {
  int one = 1;
  Address address = {2, (u16)((port >> 8) | (port << 8)), 0x0100007f};
  client->socket = socket(2, 1, 0);
  setsockopt(client->socket, 6, 1, &one, sizeof one);
  return connect(client->socket, &address, sizeof address) == 0;
}

static u64 quantileUs(const u32 *buckets, u64 count, double share) {
  u64 seen = 0;
  for (u64 at = 0; at < bucketsMax; at++)
    if ((seen += buckets[at]) > count * share) return at * bucketUs;
  return (u64)bucketsMax * bucketUs;
}

typedef struct { int epoll, connections; Client *clients; } Load;

// Returns 0 if a connection failed.
Load *openLoad(int port, int connections) {
  Load *load = calloc(1, sizeof(Load));
  load->clients = calloc(connections, sizeof(Client));
  load->connections = connections;
  load->epoll = epoll_create1(0);
  mixed = nowUs();
  for (int at = 0; at < connections; at++) {
    Event event = {1, (u64)at};
    if (!openClient(&load->clients[at], port) || epoll_ctl(load->epoll, 1, load->clients[at].socket, &event) != 0) return 0;
  }
  return load;
}

void closeLoad(Load *load) {
  for (int at = 0; at < load->connections; at++) close(load->clients[at].socket);
  close(load->epoll);
  free(load->clients);
  free(load);
}

// Ends when everything sent is answered. `open`: the body up to the id.
// `result`: answered, refused, next id, time until the last success (refusals may wait longer), p50, p99 and the longest time without any answer, the times in µs.
// Returns 0, or what failed.
int run(Load *load, double seconds, const char *head, const char *open, i64 nextId, int isRandom, int differing, double *result) {
  Client *clients = load->clients;
  u32 *buckets = calloc(bucketsMax, sizeof(u32));
  Event events[eventsMax];
  int failed = 0, connections = load->connections, waiting = 0;
  u64 startUs = nowUs(), endUs = startUs + (u64)(seconds * 1e6), lastUs = startUs, silenceUs = 0, answered = 0, refused = 0, atUs = startUs, answeredUs = startUs;
  for (int at = 0; at < connections && !failed; at++) {
    if (!sendPlant(&clients[at], head, open, nextId++, isRandom, differing, startUs)) failed = 2;
    waiting++;
  }
  while (!failed && (atUs < endUs || waiting > 0)) {
    int count = epoll_wait(load->epoll, events, eventsMax, 100);
    atUs = nowUs();
    if (atUs > endUs + drainUsMax) failed = 4;
    for (int index = 0; index < count && !failed; index++) {
      Client *client = &clients[events[index].client];
      long bytes = recv(client->socket, client->response + client->received, responseBytesMax - client->received, 0);
      if (bytes <= 0) failed = 3;
      client->received += bytes > 0 ? bytes : 0;
      if (failed || !isWhole(client)) continue;
      if (memcmp(client->response, "HTTP/1.1 20", 11) == 0) {
        answered++;
        answeredUs = atUs;
      } else refused++;
      client->received = 0;
      waiting--;
      u64 tookUs = atUs - client->sentUs, bucket = tookUs / bucketUs;
      buckets[bucket < bucketsMax ? bucket : bucketsMax - 1]++;
      if (atUs - lastUs > silenceUs) silenceUs = atUs - lastUs;
      lastUs = atUs;
      if (atUs >= endUs) continue;
      if (!sendPlant(client, head, open, nextId++, isRandom, differing, atUs)) failed = 2;
      waiting++;
    }
  }
  u64 all = answered + refused;
  double values[] = {answered, refused, nextId, answeredUs - startUs, quantileUs(buckets, all, 0.5), quantileUs(buckets, all, 0.99), silenceUs};
  memcpy(result, values, sizeof values);
  free(buckets);
  return failed;
}
