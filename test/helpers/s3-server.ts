import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import type { Pair } from './authority.js'
import { find, freePort, launch, type StoreServer, skipping } from './store-servers.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

/** SeaweedFS, an object store of others that checks signatures. */
const WEED = find('weed', [])

/** The reason why tests with an object store are skipped here, or false. In CI they never are. */
export const withoutS3 = skipping(WEED, 'weed (SeaweedFS)')

export const S3_ACCESS = { AWS_ACCESS_KEY_ID: 'fleet-access-key', AWS_SECRET_ACCESS_KEY: 'fleet-secret-key' } as const
const BUCKET = 'fleet'
/** It may take connections before all of its parts are ready. */
const MAX_TRIES = 600
const PAUSE_MS = 50

export interface S3Server extends Pick<StoreServer, 'kill' | 'restart'> {
  readonly origin: string
  readonly bucket: string
  /** Writes an object, past the interface that is tested. */
  put(key: string, content: string | Buffer): Promise<void>
}

export async function startS3(test: Test, tls: Pair): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-s3-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey } = S3_ACCESS
  const identity = { name: 'fleet', credentials: [{ accessKey, secretKey }], actions: ['Read', 'List'] }
  const config = file('s3.json', JSON.stringify({ identities: [identity] }))
  const [cert, key] = [file('cert.pem', tls.cert), file('key.pem', tls.key)]
  const ports = await Promise.all(Array.from({ length: 7 }, () => freePort()))
  const names = ['master.port', 'master.port.grpc', 'volume.port', 'volume.port.grpc', 'filer.port', 'filer.port.grpc']
  const server = await launch(test, port => ({
    command: WEED ?? 'weed',
    args: [
      ...['server', `-dir=${folder}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1', '-filer', '-s3', '-volume.max=8'],
      ...names.map((name, at) => `-${name}=${ports[at]}`),
      ...[`-s3.port=${port}`, `-s3.port.grpc=${ports[6]}`, `-s3.config=${config}`],
      ...[
        `-s3.cert.file=${cert}`,
        `-s3.key.file=${key}`,
        '-master.volumeSizeLimitMB=64',
        '-s3.port.iceberg=0',
        '-s3.port.lance=0',
      ],
    ],
  }))
  const store = `http://127.0.0.1:${ports[4]}/buckets/${BUCKET}`
  return {
    origin: `https://localhost:${server.port}`,
    bucket: BUCKET,
    kill: server.kill,
    restart: server.restart,
    put: async (name, content) => {
      for (let tries = 1; ; tries++) {
        const body = new FormData()
        body.append('file', new Blob([new Uint8Array(Buffer.from(content))]), 'file')
        const path = name.split('/').map(encodeURIComponent).join('/')
        const answer = await fetch(`${store}/${path}`, { method: 'POST', body }).catch(() => undefined)
        if (answer?.ok === true) return
        if (tries === MAX_TRIES) throw new Error(`the object store does not take objects: ${answer?.status}`)
        await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
      }
    },
  }
}
