/* A fake OpenAI engine to measure proxies with: it costs little CPU and writes events at a fixed pace.
 *
 * usage: engine PORT CHUNKS GAP_US
 *   POST, "stream":true   CHUNKS events, GAP_US before each; a usage event if "include_usage":true; [DONE]
 *   POST otherwise        one chat.completion after GAP_US
 *   GET  /stats           what was served so far, for the meter
 *   GET  anything else    the probes that gateways send: /health, /v1/models, /get_model_info, /get_load, ...
 *
 * One thread per connection: at the concurrency of a benchmark that is the simplest thing that keeps the pace.
 * The counters leave the usage event out, so that a proxy that withholds it is charged per event that it relays.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 1 << 22, STACK_BYTES = 1 << 18, BACKLOG = 1024 };

#define CHUNK_HEAD \
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\","

static int chunks, gap_us;
static atomic_ulong requests, streams, events;

static const char COMPLETION[] =
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"hello there\"},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":100,\"total_tokens\":110}}";
static const char MODELS[] =
    "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"engine\"}]}";
static const char INFO[] =
    "{\"status\":\"ok\",\"model_path\":\"m\",\"model_id\":\"m\",\"served_model_name\":\"m\",\"tokenizer_path\":\"m\","
    "\"is_generation\":true,\"tp_size\":1,\"dp_size\":1,\"version\":\"0\",\"load\":0}";
static const char STREAM_HEAD[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";

/* A connection and the bytes read from it that no request has used yet. */
struct peer {
    int fd;
    size_t have;
    char data[REQUEST_MAX];
};

struct request {
    size_t head, body;
};

static int send_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t sent = write(fd, data, size);
        if (sent <= 0) return -1;
        data += sent;
        size -= sent;
    }
    return 0;
}

static int send_json(int fd, const char *body) {
    char out[2048];
    int size = snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                        strlen(body), body);
    return send_all(fd, out, size);
}

/* One event in one HTTP chunk and one write, as engines send them. */
__attribute__((format(printf, 2, 3))) static int send_event(int fd, const char *format, ...) {
    char event[768], out[1024];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(event, sizeof event, format, args);
    va_end(args);
    int size = snprintf(out, sizeof out, "%x\r\n%s\r\n", length, event);
    return send_all(fd, out, size);
}

static int send_stream(int fd, int with_usage) {
    if (send_all(fd, STREAM_HEAD, sizeof STREAM_HEAD - 1)) return -1;
    for (int i = 0; i < chunks; i++) {
        if (gap_us) usleep(gap_us);
        if (send_event(fd,
                       CHUNK_HEAD "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\" tok%d\","
                                  "\"reasoning_content\":null,\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":%s,"
                                  "\"matched_stop\":null}],\"usage\":null}\n\n",
                       i, i + 1 < chunks ? "null" : "\"stop\""))
            return -1;
        events++;
    }
    if (with_usage && send_event(fd,
                                 CHUNK_HEAD "\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":%d,"
                                            "\"total_tokens\":%d}}\n\n",
                                 chunks, chunks + 10))
        return -1;
    if (send_event(fd, "data: [DONE]\n\n") || send_all(fd, "0\r\n\r\n", 5)) return -1;
    events++;
    streams++;
    return 0;
}

static int send_stats(int fd) {
    char body[128];
    snprintf(body, sizeof body, "{\"requests\":%lu,\"streams\":%lu,\"events\":%lu}", requests, streams, events);
    return send_json(fd, body);
}

static int read_more(struct peer *peer) {
    ssize_t got = peer->have < REQUEST_MAX ? read(peer->fd, peer->data + peer->have, REQUEST_MAX - peer->have) : -1;
    if (got <= 0) return -1;
    peer->have += got;
    return 0;
}

/* memmem for a needle that may be absent from the first `size` bytes, letter case ignored. */
static const char *find_header(const char *head, size_t size, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i + length <= size; i++)
        if (!strncasecmp(head + i, name, length)) return head + i + length;
    return NULL;
}

static int read_request(struct peer *peer, struct request *request) {
    char *end;
    while (!(end = memmem(peer->data, peer->have, "\r\n\r\n", 4)))
        if (read_more(peer)) return -1;
    request->head = end - peer->data + 4;
    request->body = 0;
    const char *length = find_header(peer->data, request->head, "\r\ncontent-length:");
    if (length) {
        request->body = strtoul(length, NULL, 10);
    } else if (find_header(peer->data, request->head, "\r\ntransfer-encoding:")) {
        /* Good enough for JSON bodies, which hold no bare CRLF: the last chunk ends the body. */
        while (!(end = memmem(peer->data + request->head, peer->have - request->head, "0\r\n\r\n", 5)))
            if (read_more(peer)) return -1;
        request->body = end + 5 - (peer->data + request->head);
    }
    while (peer->have < request->head + request->body)
        if (read_more(peer)) return -1;
    return 0;
}

static int has_flag(const struct peer *peer, const struct request *request, const char *compact, const char *spaced) {
    const char *body = peer->data + request->head;
    return memmem(body, request->body, compact, strlen(compact)) || memmem(body, request->body, spaced, strlen(spaced));
}

static int answer(const struct peer *peer, const struct request *request) {
    if (!strncmp(peer->data, "GET /stats", 10)) return send_stats(peer->fd);
    if (!strncmp(peer->data, "GET /v1/models", 14)) return send_json(peer->fd, MODELS);
    if (strncmp(peer->data, "POST", 4)) return send_json(peer->fd, INFO);
    requests++;
    if (has_flag(peer, request, "\"stream\":true", "\"stream\": true"))
        return send_stream(peer->fd, has_flag(peer, request, "\"include_usage\":true", "\"include_usage\": true"));
    if (gap_us) usleep(gap_us);
    return send_json(peer->fd, COMPLETION);
}

static void *serve(void *arg) {
    struct peer *peer = arg;
    struct request request;
    int one = 1;
    setsockopt(peer->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    while (!read_request(peer, &request) && !answer(peer, &request)) {
        size_t used = request.head + request.body;
        memmove(peer->data, peer->data + used, peer->have - used);
        peer->have -= used;
    }
    close(peer->fd);
    free(peer);
    return NULL;
}

static void accept_forever(int listener) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) continue;
        struct peer *peer = malloc(sizeof *peer);
        pthread_t thread;
        if (peer) peer->fd = fd, peer->have = 0;
        if (!peer || pthread_create(&thread, &attributes, serve, peer)) close(fd), free(peer);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: engine PORT CHUNKS GAP_US\n"), 2;
    chunks = atoi(argv[2]);
    gap_us = atoi(argv[3]);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* a benchmark that is killed leaves no engine behind */
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(atoi(argv[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, BACKLOG)) return perror("engine"), 1;
    accept_forever(listener);
}
