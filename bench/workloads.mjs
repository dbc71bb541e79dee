// What is sent and answered. Text is made from a fixed list of words: the same bytes in every run.

/** Events of one stream, the terminator not counted. */
export const EVENTS = 200

const WORDS =
  'the gateway reads a line, “quotes” it\nand sends \\ it on: naïve café — 東京 \t tab, 3.14 {braces} [brackets]'.split(
    ' ',
  )

function text(length) {
  let out = ''
  for (let i = 0; out.length < length; i = (i * 7 + 3) % 1009) out += `${WORDS[i % WORDS.length]} `
  return out.slice(0, length)
}

/** A chat request whose JSON is about `size` bytes, in turns of at most 2 KiB as conversations are. */
export function chatRequest(size, more = {}) {
  const messages = [{ role: 'system', content: 'You are a helpful assistant.' }]
  const request = { model: 'bench', ...more, temperature: 0.7, messages }
  for (let left = size - Buffer.byteLength(JSON.stringify(request)) - 40; left > 0; left -= 2048) {
    const role = messages.length % 2 === 1 ? 'user' : 'assistant'
    messages.push({ role, content: text(Math.max(1, Math.min(left, 2048) * 0.78)) })
  }
  return Buffer.from(JSON.stringify(request))
}

export function jsonAnswer(size) {
  const usage = { prompt_tokens: 73, completion_tokens: 41, total_tokens: 114 }
  const choice = { index: 0, message: { role: 'assistant', content: '', refusal: null }, finish_reason: 'stop' }
  const answer = {
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1,
    model: 'bench-1',
    choices: [choice],
    usage,
  }
  choice.message.content = 'x'.repeat(size - JSON.stringify(answer).length)
  return JSON.stringify(answer)
}

/** One event of about 250 bytes, with the moment at which it was sent (nanoseconds, monotonic, 20 digits). */
export function event(now) {
  const choice = '{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}'
  const sent = `"system_fingerprint":"${String(now).padStart(20, '0')}"`
  const head =
    '"id":"chatcmpl-bench-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"bench-1"'
  return Buffer.from(`data: {${head},${sent},"choices":[${choice}]}\n\n`)
}

/** Requests a second at which the latency of small requests is measured. */
const CALM_RATE = 100

/** Connections are bounded, and so are the requests of one short round; `latency` requests go one after the other, or as `calm` says. */
export function workloads(quick) {
  const few = (full, small) => (quick ? small : full)
  const json = (name, body, requests, latency, calm = { connections: 1 }) => {
    const at = { connections: 16, requests: few(requests, 64), latency: few(latency, 16), calm }
    return { name, unit: 'request', body, ...at, warmUp: few(4 * requests, 32) }
  }
  const streams = { connections: 64, requests: few(192, 64), latency: 0, warmUp: few(512, 64) }
  return [
    json('json 0.3 KiB', chatRequest(300), 4000, 100, { connections: 16, rate: CALM_RATE }),
    json('json 16 KiB', chatRequest(16 * 1024), 2000, 250),
    json('json 256 KiB', chatRequest(256 * 1024), 300, 50),
    json('json 0.3 KiB, answer 64 KiB', chatRequest(300, { user: 'large' }), 2000, 125),
    { name: `sse ${EVENTS} events`, unit: 'event', body: chatRequest(300, { stream: true }), ...streams },
  ]
}
