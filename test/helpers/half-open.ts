// A peer of realtime sessions in a process of its own, to be stopped: as a client it asks for a session and talks, as an
// upstream it listens and opens any that is asked for. It prints a line for each step.
// usage: node half-open.js client <port> <key> | upstream
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { acceptOf } from '../../src/core/socket-key.js'
import { textFrame } from '../../src/wire/frames.js'

const [role, port, key] = process.argv.slice(2)
if (role === 'client') {
  const socket = connect({ host: '127.0.0.1', port: Number(port) })
  socket.write(
    `GET /v1/realtime?model=m HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\nconnection: Upgrade\r\n` +
      'upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  socket.once('data', () => socket.write(textFrame('hello', true)))
} else {
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    const accept = acceptOf(request.headers['sec-websocket-key'] ?? '')
    socket.on('error', () => undefined)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    )
    socket.write(textFrame('hello', false))
  })
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
}
