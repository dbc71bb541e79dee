import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface MediaHost {
  readonly port: number
  readonly origin: string
  readonly requests: readonly IncomingMessage[]
  /** Connections that were accepted, also those that never asked for anything. */
  readonly connections: () => number
}

/** A server of media on one address of this machine (on all of both families), on the given port or on any. */
export async function startMediaHost(
  t: Test,
  host: string | undefined,
  listener: RequestListener,
  port = 0,
): Promise<MediaHost> {
  const requests: IncomingMessage[] = []
  let connections = 0
  const server = createServer((request, response) => {
    requests.push(request)
    listener(request, response)
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen({ port, ...(host !== undefined && { host }) })
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = (server.address() as AddressInfo).port
  return { port: bound, origin: `http://${host}:${bound}`, requests, connections: () => connections }
}

const HEADS = {
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0, 0, 16],
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
  'image/gif': 'GIF89a',
  'image/webp': 'RIFF\x10\x00\x00\x00WEBP',
  'application/pdf': '%PDF-1.7\n',
  'audio/wav': 'RIFF\x10\x00\x00\x00WAVE',
  'audio/mpeg': [0xff, 0xfb, 0x90, 0x64],
}

export type SampleType = keyof typeof HEADS

/** Bytes that begin as documents of this type begin. */
export function sample(type: SampleType, size = 64): Buffer {
  const head = HEADS[type]
  const start = typeof head === 'string' ? Buffer.from(head, 'latin1') : Buffer.from(head)
  return Buffer.concat([start, Buffer.alloc(Math.max(0, size - start.length))])
}

export const SAMPLE_TYPES = Object.keys(HEADS) as readonly SampleType[]
