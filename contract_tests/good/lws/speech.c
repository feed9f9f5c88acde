/* The good speech container on libwebsockets; run as `speech PORT`.
 *
 * One thread, one callback. Whatever is to be said is queued, and written when the socket takes it; the library answers
 * Pings by itself. A broken container defines what it does otherwise and includes this file.
 */
#include "tone.h"

#include <jansson.h>
#include <libwebsockets.h>
#include <signal.h>
#include <string.h>

#define STREAM_PATH "/invocations-bidirectional-stream"
#define FRAME_BYTES 4800 /* 100 ms: an even number, whole samples */
#define LARGEST (16u << 20)
#define BUFFER_BYTES 65536

#ifndef IS_WHOLE_MESSAGE
/* The library hands over what it has: a message ends with the last byte of its last fragment. */
#define IS_WHOLE_MESSAGE(wsi) (lws_is_final_fragment(wsi) && !lws_remaining_packet_payload(wsi))
#endif

struct frame {
    struct frame *next;
    enum lws_write_protocol type;
    size_t size;
    unsigned char data[]; /* LWS_PRE bytes for the library, then the payload */
};

struct session {
    struct frame *first, **end; /* what waits to be written */
    char *message;              /* what has come of a message */
    size_t size;
    bool closing;
};

static const char *const voices[] = {"af_heart", "af_bella", "am_adam", "am_michael"};
static volatile sig_atomic_t stopping;
static int sessions;

static void queue(struct session *session, enum lws_write_protocol type, const void *data, size_t size)
{
    struct frame *frame = malloc(sizeof *frame + LWS_PRE + size);
    frame->next = NULL;
    frame->type = type;
    frame->size = size;
    memcpy(frame->data + LWS_PRE, data, size);
    *session->end = frame;
    session->end = &frame->next;
}

static void control(struct session *session, json_t *event)
{
    char *text = json_dumps(event, JSON_COMPACT);
    queue(session, LWS_WRITE_TEXT, text, strlen(text));
    free(text);
    json_decref(event);
}

static bool is_one_of(const char *name)
{
    for (size_t at = 0; at < LWS_ARRAY_SIZE(voices); at++)
        if (!strcmp(name, voices[at])) return true;
    return false;
}

/* Answer one whole message. */
static void answer(struct session *session, const char *message, size_t size)
{
    json_t *request = json_loadb(message, size, 0, NULL);
    json_t *id = json_object_get(request, "request_id");
    json_t *type = json_object_get(request, "type"), *speed = json_object_get(request, "speed");
    json_t *voice = json_object_get(request, "voice"), *rate = json_object_get(request, "sample_rate");
    const char *text = json_string_value(json_object_get(request, "text"));
    double factor = speed ? json_number_value(speed) : 1, hertz = rate ? json_number_value(rate) : 24000;
    const char *name = voice ? json_string_value(voice) : "af_heart", *wrong = NULL;

    if (!json_is_object(request)) wrong = "message must be a JSON object";
    else if (type && json_string_value(type) && !strcmp(json_string_value(type), "close")) session->closing = true;
    else if (type) wrong = "unknown type";
    else if (!text || !*text) wrong = "text required";
    else if (!name || !is_one_of(name)) wrong = "voice is unknown";
    else if (!(factor >= 0.5 && factor <= 2)) wrong = "speed must be a number from 0.5 to 2";
    else if (hertz != 8000 && hertz != 16000 && hertz != 22050 && hertz != 24000) wrong = "sample_rate is unknown";

    json_t *own = id ? json_incref(id) : json_string("unknown");
    if (wrong) {
        control(session, json_pack("{ss sO ss}", "type", "error", "request_id", own, "message", wrong));
    } else if (!session->closing) {
        int16_t *samples;
        size_t bytes = tone(&samples, text, name, factor, hertz);
        control(session, json_pack("{ss sO}", "type", "synthesis_start", "request_id", own));
        for (size_t at = 0; at < bytes; at += FRAME_BYTES)
            queue(session, LWS_WRITE_BINARY, (char *)samples + at, at + FRAME_BYTES < bytes ? FRAME_BYTES : bytes - at);
        control(session, json_pack("{ss sO sf}", "type", "synthesis_complete", "request_id", own, "total_duration_s",
                                   (double)bytes / 2 / hertz));
        free(samples);
    }
    json_decref(own);
    json_decref(request);
}

static int receive(struct lws *wsi, struct session *session, const void *data, size_t size)
{
    if (session->size + size > LARGEST) {
        lws_close_reason(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
        return -1;
    }
    session->message = realloc(session->message, session->size + size + 1);
    memcpy(session->message + session->size, data, size);
    session->size += size;
    if (IS_WHOLE_MESSAGE(wsi)) {
        answer(session, session->message, session->size);
        session->size = 0;
        lws_callback_on_writable(wsi);
    }
    return 0;
}

static int write_next(struct lws *wsi, struct session *session)
{
    struct frame *frame = session->first;
    if (stopping || (!frame && session->closing)) {
        lws_close_reason(wsi, stopping ? LWS_CLOSE_STATUS_GOINGAWAY : LWS_CLOSE_STATUS_NORMAL, NULL, 0);
        return -1;
    }
    if (!frame) return 0;
    session->first = frame->next;
    if (!session->first) session->end = &session->first;
    int written = lws_write(wsi, frame->data + LWS_PRE, frame->size, frame->type);
    free(frame);
    lws_callback_on_writable(wsi);
    return written < 0 ? -1 : 0;
}

static int respond(struct lws *wsi, const char *path)
{
    unsigned char buffer[LWS_PRE + 512], *at = buffer + LWS_PRE, *end = buffer + sizeof buffer - 1;
    unsigned status = strcmp(path, "/ping") ? HTTP_STATUS_NOT_FOUND : HTTP_STATUS_OK;
    if (lws_add_http_common_headers(wsi, status, "text/plain", 0, &at, end)) return -1;
    if (lws_finalize_write_http_header(wsi, buffer + LWS_PRE, &at, end)) return -1;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size)
{
    struct session *session = user;
    char path[64] = "";
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        return respond(wsi, in);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) > 0 && !strcmp(path, STREAM_PATH) ? 0 : -1;
    case LWS_CALLBACK_ESTABLISHED:
        *session = (struct session){.end = &session->first};
        sessions++;
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return receive(wsi, session, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return write_next(wsi, session);
    case LWS_CALLBACK_CLOSED:
        for (struct frame *next; session->first; session->first = next) {
            next = session->first->next;
            free(session->first);
        }
        free(session->message);
        sessions--;
        return 0;
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, size);
    }
}

static void stop(int number)
{
    (void)number;
    stopping = 1;
}

int main(int count, char **arguments)
{
    static const struct lws_protocols protocols[] = {
        {.name = "speech", .callback = callback, .per_session_data_size = sizeof(struct session),
         .rx_buffer_size = BUFFER_BYTES},
        {0},
    };
    struct lws_context_creation_info info = {
        .port = count > 1 ? atoi(arguments[1]) : 8080,
        .iface = "127.0.0.1",
        .protocols = protocols,
        .pt_serv_buf_size = BUFFER_BYTES,
        .options = LWS_SERVER_OPTION_VALIDATE_UTF8,
    };
    signal(SIGTERM, stop);
    lws_set_log_level(LLL_ERR, NULL);
    struct lws_context *context = lws_create_context(&info);
    if (!context) return 1;
    while (!stopping && lws_service(context, 0) >= 0) continue;
    lws_callback_on_writable_all_protocol(context, &protocols[0]); /* every session is told */
    for (int rounds = 0; sessions && rounds < 200; rounds++)
        if (lws_service(context, 0) < 0) break;
    lws_context_destroy(context);
    return 0;
}
