import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type t from 'tap'
import type { Pair } from './authority.js'
import { Journal } from './journal.js'
import { freePort } from './store-servers.js'

type Test = Pick<typeof t, 'teardown'>

interface Asked {
  readonly path: string
  readonly condition: string | undefined
  readonly authorization: string | undefined
  readonly status: number
}

export interface DocumentServer {
  readonly origin: string
  readonly asked: Journal<Asked>
  /** What is at each path; a number: the status that it is answered with; `hang`: nothing is answered. */
  readonly documents: Map<string, Buffer | number | 'hang'>
  readonly close: () => Promise<void>
}

/** Serves documents under entity tags, as web servers and object stores do. `location`: that of answers with a status alone. */
export async function startDocumentServer(test: Test, tls?: Pair, location = '/elsewhere'): Promise<DocumentServer> {
  const documents: DocumentServer['documents'] = new Map()
  const asked = new Journal<Asked>('requests for documents')
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [path = ''] = (request.url ?? '').split('?')
    const found = documents.get(path) ?? 404
    const condition = request.headers['if-none-match']
    const { authorization } = request.headers
    if (found === 'hang') return
    const etag = typeof found === 'number' ? '' : `"${createHash('sha1').update(found).digest('hex')}"`
    const status = typeof found === 'number' ? found : condition === etag ? 304 : 200
    response.writeHead(status, etag === '' ? { location } : { etag })
    response.end(status === 200 ? found : undefined)
    asked.push({ path, condition, authorization, status })
  }
  const server: Server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer)
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  }
  test.teardown(close)
  const origin = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  return { origin, asked, documents, close }
}
