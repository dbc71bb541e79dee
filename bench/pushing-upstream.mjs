// An upstream that pushes small events, frames or bytes without an end, as fast as it is let. What it pushes follows from
// the path. GET /pushed tells how many bytes have left it in all.
// usage: node bench/pushing-upstream.mjs PORT [MIB_PER_STREAM [CHARACTERS_PER_EVENT]]
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { serverFrame } from './realtime-frames.mjs'

const [port, mib = '200', length = '1'] = process.argv.slice(2)
const MOST = Number(mib) * 1024 * 1024
const BLOCK = 64 * 1024
/** What each event says. */
const SAID = 'word '.repeat(Math.ceil(Number(length) / 5)).slice(0, Number(length))
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const sockets = new Set()
let gone = 0

const sse = (data, event) => `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`
const typed = data => sse(data, data.type)
const text = { type: 'message', id: 'm', role: 'assistant', status: 'in_progress', content: [] }
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] }
const part = { item_id: 'm', output_index: 0, content_index: 0 }
const usage = { input_tokens: 1, output_tokens: 1 }

const EVENTS = 'text/event-stream'
/** By a part of the path: the content type, what comes first, and what comes again and again. */
const PUSHED = [
  ['/chat/', EVENTS, '', sse({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content: SAID } }] })],
  [
    '/responses',
    EVENTS,
    typed({ type: 'response.created', sequence_number: 0, response }) +
      typed({ type: 'response.output_item.added', output_index: 0, item: text }) +
      typed({ type: 'response.content_part.added', ...part, part: { type: 'output_text', text: '' } }),
    typed({ type: 'response.output_text.delta', ...part, delta: SAID }),
  ],
  [
    '/messages',
    EVENTS,
    typed({
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage },
    }) + typed({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    typed({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: SAID } }),
  ],
  [
    ':streamGenerateContent',
    EVENTS,
    '',
    sse({ candidates: [{ content: { role: 'model', parts: [{ text: SAID }] } }] }),
  ],
  [
    '/images/',
    EVENTS,
    '',
    typed({ type: 'image_generation.partial_image', b64_json: 'A'.repeat(20_000), partial_image_index: 0 }),
  ],
  ['/transcriptions', EVENTS, '', typed({ type: 'transcript.text.delta', delta: SAID })],
  ['/speech', 'audio/mpeg', '', 'A'.repeat(1024)],
  ['/content', 'application/octet-stream', '', 'A'.repeat(1024)],
]

createServer({ noDelay: true }, socket => {
  sockets.add(socket)
  let held = Buffer.alloc(0)
  socket.on('error', () => undefined)
  socket.on('close', () => {
    sockets.delete(socket)
    gone += socket.bytesWritten
  })
  const take = bytes => {
    held = Buffer.concat([held, bytes])
    const end = held.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = held.latin1Slice(0, end)
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    if (held.length < end + 4 + length) return
    const whole = !/^transfer-encoding:/im.test(head) || held.subarray(-5).equals(Buffer.from('0\r\n\r\n'))
    if (!whole) return
    socket.off('data', take).resume()
    answer(socket, head, held.latin1Slice(end + 4))
  }
  socket.on('data', take)
}).listen(Number(port), '127.0.0.1')

function answer(socket, head, body) {
  const [, path] = head.split(' ', 2)
  if (path === '/pushed') {
    let bytes = gone
    for (const one of sockets) bytes += one.bytesWritten - one.writableLength
    socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${bytes}`)
  } else if (/^upgrade: websocket/im.test(head)) {
    const key = /^sec-websocket-key: *(\S+)/im.exec(head)[1]
    const accept = createHash('sha1')
      .update(key + GUID)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    )
    push(socket, repeated(serverFrame(path.includes('tiny') ? 120 : 4096)))
  } else if (path.endsWith('/v1/files')) {
    json(socket, { id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'f', purpose: 'user_data' })
  } else if (path.endsWith('/v1/videos')) {
    json(socket, { id: 'video_1', object: 'video', model: 'm', status: 'completed', progress: 100, created_at: 1 })
  } else {
    const [, type, first, again] = PUSHED.find(([part]) => path.includes(part)) ?? PUSHED[0]
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`)
    if (first !== '') socket.write(chunk(Buffer.from(first)))
    push(socket, chunk(repeated(Buffer.from(again))))
  }
  void body
}

function json(socket, document) {
  const body = JSON.stringify(document)
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
}

const chunk = bytes => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
const repeated = bytes => Buffer.concat(Array.from({ length: Math.ceil(BLOCK / bytes.length) }, () => bytes))

function push(socket, block) {
  const more = () => {
    while (!socket.destroyed && socket.bytesWritten < MOST) if (!socket.write(block)) return
  }
  socket.on('drain', more)
  more()
}
