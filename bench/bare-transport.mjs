// The gateway's own transport alone: its server and its client for upstreams, which only forward. What it costs less than the
// gateway is what the kernel's steps cost.
// usage: node bench/bare-transport.mjs PORT ORIGIN
import { createServer } from 'node:http'
import { ClientPool } from '../dist/transport/client/pool.js'
import { interceptConnections } from '../dist/transport/server/intercept.js'

const CONNECT_TIMEOUT_MS = 3000
const [port, origin] = process.argv.slice(2)
const pool = new ClientPool(origin, CONNECT_TIMEOUT_MS)

class Relay {
  #exchange
  #parts = []

  constructor(exchange) {
    this.#exchange = exchange
    exchange.onClose = undefined
    if (exchange.whole === undefined) exchange.receive(this)
    else this.#forward(exchange.whole)
  }

  data(chunk) {
    this.#parts.push(chunk)
  }

  end() {
    this.#forward(Buffer.concat(this.#parts))
  }

  gone() {}

  #forward(body) {
    const { method, target, rawHeaders } = this.#exchange
    const headers = []
    for (let index = 0; index < rawHeaders.length; index += 2)
      if (!/^(host|connection|content-length)$/i.test(rawHeaders[index]))
        headers.push(rawHeaders[index], rawHeaders[index + 1])
    pool.send({ method, path: target, headers, body }, this)
  }

  onRequestStart() {}

  onResponseStart(controller, status, answered) {
    this.#exchange.onDrain = () => controller.resume()
    this.#exchange.head(
      status,
      Object.entries(answered)
        .filter(([name]) => name !== 'connection')
        .flat()
        .map(String),
    )
  }

  onResponseData(controller, chunk) {
    if (!this.#exchange.write(chunk)) controller.pause()
  }

  onResponseEnd() {
    this.#exchange.end()
  }

  onResponseError() {
    this.#exchange.destroy()
  }
}

const server = createServer((_request, response) => response.writeHead(501).end())
interceptConnections(server, exchange => new Relay(exchange))
server.listen(Number(port), '127.0.0.1')
