// A WebSocket proxy as a library makes it: what others in this runtime cost. Nothing is read, checked, metered or logged.
import { createProxyServer } from 'http-proxy-3'

const [port, upstream] = process.argv.slice(2)

createProxyServer({ target: `http://127.0.0.1:${upstream}`, ws: true })
  .on('error', () => undefined)
  .listen(Number(port), '127.0.0.1')
