import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { packageRoot } from '../../core/package-root.js'

interface File {
  readonly type: string
  readonly etag: string
  /** By content coding; `identity` is always there. */
  readonly bodies: ReadonlyMap<string, Buffer>
  /** Its name has a digest of its content. */
  readonly isHashed: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}
/** As the build writes them beside a file, best first. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
const YEAR_S = 365 * 24 * 60 * 60

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'microphone=(self), camera=(), geolocation=()',
  vary: 'accept-encoding',
}

let known: ReadonlyMap<string, File> | undefined

/** The files of the console by path; read when they are first asked for. */
function files(): ReadonlyMap<string, File> {
  known ??= read(join(packageRoot(), 'dist/console'))
  return known
}

function read(folder: string): ReadonlyMap<string, File> {
  if (!existsSync(folder)) return new Map()
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && TYPES[extname(entry.name)] !== undefined)
    .map(entry => join(entry.parentPath, entry.name))
  return new Map(
    names.map(name => {
      const content = readFileSync(name)
      const packed = CODINGS.flatMap(([coding, end]) =>
        existsSync(name + end) ? [[coding, readFileSync(name + end)] as const] : [],
      )
      const path = name.slice(folder.length).replaceAll('\\', '/')
      const file: File = {
        type: TYPES[extname(name)] ?? 'application/octet-stream',
        etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
        bodies: new Map([...packed, ['identity', content]]),
        isHashed: path.startsWith('/assets/'),
      }
      return [path, file]
    }),
  )
}

/** Answers a request for a file or a page of the console; false: it is for the API. */
export function answerFile(request: IncomingMessage, response: ServerResponse, path: string): boolean {
  const { method, headers } = request
  if ((method !== 'GET' && method !== 'HEAD') || path.startsWith('/admin') || path === '/metrics') return false
  // Every page is the same document, which looks at its address.
  const isPage = path === '/' || (!path.includes('.') && headers.accept?.includes('text/html') === true)
  const file = files().get(isPage ? '/index.html' : path)
  if (file === undefined) return false
  const coding = codingFor(file, String(headers['accept-encoding'] ?? ''))
  const body = file.bodies.get(coding) ?? Buffer.alloc(0)
  const caching = file.isHashed ? `public, max-age=${YEAR_S}, immutable` : 'no-cache'
  const common = { ...HEADERS, etag: file.etag, 'cache-control': caching }
  request.resume()
  if (headers['if-none-match']?.includes(file.etag) === true) {
    response.writeHead(304, common).end()
    return true
  }
  response.writeHead(200, {
    ...common,
    'content-type': file.type,
    'content-length': body.length,
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  })
  response.end(method === 'HEAD' ? undefined : body)
  return true
}

function codingFor({ bodies }: File, accepted: string): string {
  const wanted = accepted.split(',').map(one => one.trim())
  const found = CODINGS.find(([coding]) => bodies.has(coding) && wanted.some(one => one.split(';')[0] === coding))
  return found?.[0] ?? 'identity'
}
