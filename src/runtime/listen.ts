import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { ListenConfig } from '../core/config.js'
import { StartError } from './problems.js'

/** Opens a listener. Throws {@link StartError} with one clear line where that cannot be. */
export async function listen(
  server: Server | HttpsServer,
  { host, port, backlog }: Pick<ListenConfig, 'host' | 'port' | 'backlog'>,
): Promise<void> {
  await new Promise<void>((listening, failed) => {
    const fail = (error: NodeJS.ErrnoException): void => failed(new StartError(explain(error, host, port)))
    server.once('error', fail)
    server.listen({ host, port, backlog }, () => {
      server.off('error', fail)
      listening()
    })
  })
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): string {
  const address = `${host}:${port}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `${address} is in use by another process; choose another port (listen.port or --port)`
    case 'EACCES':
      return `no permission to listen on ${address}; ports under 1024 need privileges`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine (listen.host or --host)`
    case 'ENOTFOUND':
      return `the host name ${host} cannot be resolved (listen.host or --host)`
    default:
      return `cannot listen on ${address}: ${error.message}`
  }
}
