import { once } from 'node:events'
import { watch } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type t from 'tap'
import { withResolvers } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

/** A write of a store: the n-th that names something, before the server of the store has it or when it has answered. */
export interface Write {
  readonly n: number
  readonly how: 'cut' | 'done'
}

/** Between a gateway and the server of its store, and sees what is written. */
export interface WriteWatch {
  /** The store's setting, so that it leads through here. */
  readonly store: string
  /** Resolves at the write of records that has the text. Nothing more passes on its connection then. */
  at(text: string, write: Write): Promise<void>
}

/** `store`: the setting, as written. Of a file there is no way between: there each change counts, whatever it is of. */
export async function watchWrites(test: Test, store: string): Promise<WriteWatch> {
  const [, port] = /127\.0\.0\.1:(\d+)/.exec(store) ?? []
  return port === undefined ? ofFile(test, store) : await ofServer(test, store, Number(port))
}

function ofFile(test: Test, store: string): WriteWatch {
  const [, path = ''] = /path: "([^"]+)"/.exec(store) ?? []
  return {
    store,
    at: async (_, { n }) => {
      let count = 0
      const { promise, resolve } = withResolvers<void>()
      const changes = watch(join(path, 'store/data.mdb'), () => {
        if (++count === n) resolve()
      })
      test.teardown(() => changes.close())
      await promise
      changes.close()
    },
  }
}

interface Wanted extends Write {
  readonly text: string
  readonly reached: () => void
  seen: number
}

async function ofServer(test: Test, store: string, port: number): Promise<WriteWatch> {
  let wanted: Wanted | undefined
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    let standing = false
    let answered: (() => void) | undefined
    const ends = [client, upstream]
    for (const [at, socket] of ends.entries()) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        ends[1 - at]?.destroy()
      })
    }
    client.on('data', chunk => {
      if (standing) return
      const hit = wanted !== undefined && chunk.includes(wanted.text) && ++wanted.seen === wanted.n ? wanted : undefined
      if (hit !== undefined) wanted = undefined
      if (hit?.how === 'cut') {
        standing = true
        hit.reached()
        return
      }
      if (hit !== undefined) answered = hit.reached
      upstream.write(chunk)
    })
    upstream.on('data', chunk => {
      if (answered === undefined && !standing) return void client.write(chunk)
      standing = true
      answered?.()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const own = (server.address() as AddressInfo).port
  return {
    store: store.replace(`127.0.0.1:${port}`, `127.0.0.1:${own}`),
    at: async (text, write) => {
      const { promise, resolve } = withResolvers<void>()
      wanted = { ...write, text, reached: resolve, seen: 0 }
      await promise
    },
  }
}
