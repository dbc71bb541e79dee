import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** The port on 127.0.0.1 at which a server listens until the test ends. */
export async function listening(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
