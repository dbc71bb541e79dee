import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { Journal } from './journal.js'
import { listening } from './listening.js'

type Test = Pick<typeof t, 'teardown'>

export interface Notified {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/**
 * A receiver of webhooks, over HTTPS on localhost, which answers by `status`, when that is there, or not at all. `flood`: its
 * answers have as many bytes, and do not end.
 */
export async function hookListener(
  t: Test,
  status: (count: number, notified: Notified) => number | 'hang' | Promise<number | 'hang'>,
  flood = 0,
): Promise<{ url: string; port: number; notifications: Journal<Notified> }> {
  const tls = join(packageRoot(), 'test/fixtures/tls')
  const notifications = new Journal<Notified>('notifications')
  const options = { cert: readFileSync(join(tls, 'first.pem')), key: readFileSync(join(tls, 'first.key')) }
  const server = createServer(options, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', async () => {
      const notified: Notified = { headers: request.headers, body }
      notifications.push(notified)
      const answer = await status(notifications.items.length, notified)
      if (answer === 'hang') return
      response.writeHead(answer)
      if (flood > 0) response.write('x'.repeat(flood))
      else response.end()
    })
  })
  const port = await listening(t, server)
  return { url: `https://localhost:${port}/hook`, port, notifications }
}
