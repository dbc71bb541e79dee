// The bare floor: what node:http and undici cost when they only forward. Nothing is read, checked, limited or logged.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Pool } from 'undici'

const [port, origin, cert, key] = process.argv.slice(2)
const pool = new Pool(origin, { connections: 256, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })

const relay = (req, res) => {
  const { method, url, rawHeaders } = req
  const headers = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (!/^(host|connection)$/i.test(rawHeaders[i])) headers.push(rawHeaders[i], rawHeaders[i + 1])
  const forward = body => pool.dispatch({ method, path: url, headers, body }, new Forward(res))
  if (Number(req.headers['content-length']) > 65_536) return forward(req) // cheaper as a stream, smaller ones in one piece
  const parts = []
  req.on('data', part => parts.push(part))
  req.on('end', () => forward(parts.length === 1 ? parts[0] : Buffer.concat(parts)))
}
const server =
  cert === undefined
    ? createServer(relay)
    : createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, relay)
server.listen(Number(port), '127.0.0.1')

class Forward {
  constructor(res) {
    this.res = res
  }
  onConnect(abort) {
    this.res.on('close', () => this.res.writableFinished || abort())
  }
  onHeaders(status, raw, resume) {
    this.res.on('drain', resume).writeHead(status, raw.map(String))
    return true
  }
  onData(chunk) {
    return this.res.write(chunk)
  }
  onComplete() {
    this.res.end()
  }
  onError() {
    this.res.destroy()
  }
}
