import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'

/**
 * Lets `closeAllConnections` of a server end all connections that it has accepted. Node's own leaves those out that have not
 * agreed on TLS yet, and those that have left HTTP: each would keep the process alive.
 */
export function knowAllConnections(server: Server | HttpsServer): void {
  const all = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    // Connections may be given back to their server.
    if (all.has(socket)) return
    all.add(socket)
    socket.once('close', () => all.delete(socket))
  })
  const closeAll = server.closeAllConnections.bind(server)
  server.closeAllConnections = () => {
    closeAll()
    for (const socket of all) socket.destroy()
  }
}
