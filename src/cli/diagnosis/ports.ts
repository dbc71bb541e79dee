import { once } from 'node:events'
import { createServer } from 'node:net'
import { whoListens } from '../../core/platform.js'
import { type Check, fault, ok, type Result, warning } from './result.js'

/** How long the program that has the port may take to say whether it is a gateway. */
const LIVEZ_TIMEOUT_MS = 2000
/** What a gateway says at /livez: callers' listener, and the admin listener to those without its key. */
const OURS = /"live"|"unauthenticated".*admin key/

/** Whether the gateway could listen where its configuration says. */
export const checkPorts: Check = async ({ config: { listen, admin } }) => {
  const places = [
    { name: 'listen', ...listen },
    ...(admin === undefined || admin.port === 0 ? [] : [{ name: 'admin', ...admin }]),
  ]
  return Promise.all(
    places.map(({ name, host, port, tls }) => listenAt(name, { host, port, isSecure: tls !== undefined })),
  )
}

interface Place {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

async function listenAt(name: string, place: Place): Promise<Result> {
  const { host, port } = place
  const subject = `${name} ${host.includes(':') ? `[${host}]` : host}:${port}`
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
    server.close()
    return ok('port', subject, 'is free')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    return code === 'EADDRINUSE'
      ? taken(subject, place)
      : fault('port', subject, `cannot listen (${code})`, adviceFor(code))
  }
}

async function taken(subject: string, { host, port, isSecure }: Place): Promise<Result> {
  if (isSecure)
    return warning(
      'port',
      subject,
      'is in use',
      'If this gateway runs, it is fine; if not, end the other program or take another port.',
    )
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host
  const answer = await fetch(`http://${reached}:${port}/livez`, { signal: AbortSignal.timeout(LIVEZ_TIMEOUT_MS) })
    .then(response => response.text())
    .catch(() => '')
  if (OURS.test(answer)) return ok('port', subject, 'a gateway runs there')
  return fault(
    'port',
    subject,
    'another program listens there',
    `End it, or take another port; ${whoListens(port)} names it.`,
  )
}

function adviceFor(code: string): string {
  if (code === 'EACCES') return 'Take a port from 1024 on, or give Node the capability CAP_NET_BIND_SERVICE.'
  if (code === 'EADDRNOTAVAIL') return 'Take an address of this machine, or 0.0.0.0 for all of them.'
  return 'Take another address or port.'
}
