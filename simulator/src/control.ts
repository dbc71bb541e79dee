import type { IncomingMessage, ServerResponse } from 'node:http'
import type { State } from './handle.js'

/** Where testers in other processes look at what was received, and forget it. */
export const CONTROL_PATH = '/simulator/requests'

/**
 * `GET` lists the requests that are kept, oldest first, credentials and all; `DELETE` forgets them, and the
 * responses and tasks that are kept, and starts every count of faults anew. These requests are not kept themselves.
 */
export function control(
  request: IncomingMessage,
  response: ServerResponse,
  { received, gate, memory, tasks }: State,
): void {
  request.resume()
  if (request.method === 'GET') {
    send(response, 200, { object: 'list', data: received.entries })
  } else if (request.method === 'DELETE') {
    received.clear()
    gate.reset()
    memory.clear()
    tasks.clear()
    send(response, 200, { object: 'list', deleted: true })
  } else {
    response.setHeader('allow', 'GET, DELETE')
    send(response, 405, { error: { message: 'Only GET and DELETE requests are accepted.' } })
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
