// The upstream of the realtime bench: a WebSocket that answers every frame with one of its own. The handshake's query
// says how large both are, so that nothing has to be read: bytes are counted.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { serverFrame } from './realtime-frames.mjs'

const [port] = process.argv.slice(2)
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const server = createServer((_req, res) => res.end())
server.on('upgrade', (req, socket, head) => {
  const query = new URL(req.url, 'ws://x').searchParams
  const size = Number(query.get('up'))
  const answer = serverFrame(Number(query.get('down')))
  const accept = createHash('sha1')
    .update(req.headers['sec-websocket-key'] + GUID)
    .digest('base64')
  socket.setNoDelay(true)
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
  let seen = 0
  const data = bytes => {
    seen += bytes.length
    const frames = Math.floor(seen / size)
    seen -= frames * size
    if (frames === 1) socket.write(answer)
    else if (frames > 1) socket.write(Buffer.concat(Array(frames).fill(answer)))
  }
  socket.on('error', () => undefined)
  socket.on('data', data)
  if (head.length > 0) data(head)
})
server.listen(Number(port), '127.0.0.1')
