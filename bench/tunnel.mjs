// The bare tunnel: what node:net costs when bytes only pass. Nothing is read, checked, metered or logged.
import { connect, createServer } from 'node:net'

const [port, upstream] = process.argv.slice(2)

createServer({ noDelay: true }, client => {
  const server = connect({ port: Number(upstream), host: '127.0.0.1', noDelay: true })
  client.pipe(server).pipe(client)
  for (const socket of [client, server]) {
    socket.on('error', () => undefined)
    socket.on('close', () => {
      client.destroy()
      server.destroy()
    })
  }
}).listen(Number(port), '127.0.0.1')
