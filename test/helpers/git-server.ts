import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type t from 'tap'
import type { Pair } from './authority.js'
import { Journal } from './journal.js'
import { find, freePort, skipping } from './store-servers.js'

type Test = Pick<typeof t, 'teardown'>

const BACKEND = '/usr/lib/git-core/git-http-backend'

/** The reason why tests with git's own server are skipped here, or false. In CI they never are. */
export const withoutGitServer = skipping(existsSync(BACKEND) ? find('git', []) : undefined, 'git-http-backend')

interface Asked {
  readonly url: string
  readonly authorization: string | undefined
}

/** A repository behind git's own program for HTTP, which a TLS server runs as CGI has it (RFC 3875). */
export interface GitServer {
  readonly origin: string
  /** Of the repository that is served. */
  readonly folder: string
  readonly asked: Journal<Asked>
  /** What every request must have as `authorization`; undefined: anyone may read. */
  login: string | undefined
  /** Commits these files on top of `main`, and returns the commit. */
  commit(files: Readonly<Record<string, string | Buffer>>): string
  /** The same in place of the last commit: `main` does not descend from that any more. */
  amend(files: Readonly<Record<string, string | Buffer>>): string
  git(...args: readonly string[]): string
  /** Takes the server away, and puts it back at its address. */
  stop(): Promise<void>
  restart(): Promise<void>
}

export async function startGitServer(test: Test, tls: Pair): Promise<GitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-git-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [bare, tree] = [join(folder, 'served', 'fleet.git'), join(folder, 'tree')]
  const run = (cwd: string, args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example', ...args], { cwd, encoding: 'utf8' }).trim()
  mkdirSync(bare, { recursive: true })
  run(bare, ['init', '--quiet', '--bare', '-b', 'main'])
  mkdirSync(tree)
  run(tree, ['init', '--quiet', '-b', 'main'])
  const git = (...args: readonly string[]): string => run(tree, args)
  const commit = (files: Readonly<Record<string, string | Buffer>>, ...more: readonly string[]): string => {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(tree, name), content)
    git('add', '.')
    git('commit', '--quiet', '--allow-empty', '-m', 'a change', ...more)
    git('push', '--quiet', '--force', bare, 'main')
    return git('rev-parse', 'HEAD')
  }
  const port = await freePort()
  const served: GitServer = {
    origin: `https://localhost:${port}`,
    folder: bare,
    asked: new Journal('requests for a repository'),
    login: undefined,
    commit: files => commit(files),
    amend: files => commit(files, '--amend'),
    git,
    stop: async () => {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
    restart: async () => {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
  const server = createServer(tls, (request, response) => {
    const { authorization } = request.headers
    served.asked.push({ url: request.url ?? '', authorization })
    if (served.login !== undefined && authorization !== served.login)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="fleet"' }).end()
    else answer(request, response, dirname(bare))
  })
  await served.restart()
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return served
}

function answer(request: IncomingMessage, response: ServerResponse, root: string): void {
  const { pathname, search } = new URL(request.url ?? '', 'https://localhost')
  const { 'content-type': type, 'content-encoding': encoding, 'git-protocol': protocol } = request.headers
  const variables = {
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_PROTOCOL: String(protocol ?? ''),
    PATH_INFO: pathname,
    QUERY_STRING: search.slice(1),
    REQUEST_METHOD: request.method ?? '',
    CONTENT_TYPE: type ?? '',
    HTTP_CONTENT_ENCODING: encoding ?? '',
  }
  const child = spawn(BACKEND, { env: { PATH: process.env.PATH, ...variables }, stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.on('close', () => {
    const output = Buffer.concat(chunks)
    const end = output.indexOf('\r\n\r\n')
    for (const line of output.subarray(0, end).toString().split('\r\n')) {
      const [name = '', value = ''] = line.split(/: (.*)/)
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.end(output.subarray(end + 4))
  })
}
