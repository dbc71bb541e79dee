import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTcpServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { signUrl } from '../../src/core/signed-url.js'
import { startTestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { command } from './in-process.js'

// Commands that open the store, sign, or decrypt, with secrets in a secret manager.

const SECRET = 'of-the-manager-0123456789-0123456789'

interface Manager {
  readonly yaml: string
  readonly asked: Journal<string>
  isAway: boolean
}

async function startManager(t: Test, kept: Readonly<Record<string, string>>): Promise<Manager> {
  const asked = new Journal<string>('paths that the manager was asked for')
  const server = createServer(({ url = '' }, response) => {
    const value = kept[url.replace('/v1/kv/', '')]
    asked.push(url)
    if (manager.isAway || value === undefined) response.writeHead(503).end('{}')
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: { value } }))
  })
  const address = `http://127.0.0.1:${await listening(t, server)}`
  const yaml = `secret_managers: { vault: { address: "${address}", token: { env: VAULT_TOKEN } } }`
  const manager: Manager = { yaml, asked, isAway: false }
  return manager
}

/** A server that ends each connection, and counts them. */
async function startDeafServer(t: Test): Promise<{ readonly port: number; readonly calls: () => number }> {
  let calls = 0
  const server: Server = createTcpServer(socket => {
    calls++
    socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, calls: () => calls }
}

const ENV = { CALLER_KEY: 'the-key-of-the-caller-0123456789', VAULT_TOKEN: 'token' }
const REST = `keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], capture: { keep: 7d } } }
upstreams: { sim: { kind: simulator }, north: { kind: openai, base: "http://127.0.0.1:1", secret: { vault: kv/north } } }
models: { "sim-*": sim }
`
const RECEIPTS = 'receipts: { key: { vault: kv/receipts } }'

function fileOf(t: Test, text: string): string {
  const file = join(t.testdir({}), 'gateway.yaml')
  writeFileSync(file, `version: 1\n${REST}${text}\n`)
  return file
}

t.test('commands open the store whose address a manager has, and fetch nothing else', async t => {
  const server = await startDeafServer(t)
  const manager = await startManager(t, { store: `redis://:word@127.0.0.1:${server.port}`, north: SECRET })
  const more = `${manager.yaml}\nreceipts: { to: store, key: { vault: kv/receipts } }`
  const file = fileOf(t, `store: { type: redis, url: { vault: kv/store } }\n${more}`)
  const open = [
    ...[['store', 'check'], ['store', 'migrate'], ['keys', 'list'], ['spend'], ['ledger', 'verify']],
    ...[['tasks', 'list'], ['receipts', 'verify'], ['doctor']],
    ['explain', 'GET', '/v1/models', '--key', 'of-the-store', '--file'],
  ]
  for (const args of open) {
    const [calls, asked] = [server.calls(), manager.asked.items.length]
    const { code, stdout, stderr } = await command([...args, file], { env: ENV })
    t.equal(code, 1, args.join(' '))
    t.match(stderr + stdout, `the store at 127.0.0.1:${server.port} `, args.join(' '))
    t.ok(server.calls() > calls, args.join(' '))
    t.same(manager.asked.items.slice(asked), ['/v1/kv/store'], args.join(' '))
  }
  const asked = manager.asked.items.length
  t.equal((await command(['explain', 'GET', '/v1/models', '--key', 'caller', '--file', file], { env: ENV })).code, 0)
  t.equal(manager.asked.items.length, asked, 'a key of the file is not in the store')
})

t.test('a password that cannot be fetched is said, and no store is opened without it', async t => {
  const server = await startDeafServer(t)
  const manager = await startManager(t, {})
  const hosts = `{ type: redis, hosts: ["127.0.0.1:${server.port}"], password: { vault: kv/store } }`
  const file = fileOf(t, `store: ${hosts}\n${manager.yaml}\n${RECEIPTS}`)
  const { code, stderr } = await command(['store', 'check', file], { env: ENV })
  t.equal(code, 1)
  t.match(stderr, /^error: the store cannot be used: vault kv\/store could not be fetched: .*status 503/m)
  t.equal(server.calls(), 0)
})

t.test('sign-url signs with the secret of the manager, and not without it', async t => {
  const manager = await startManager(t, { signing: SECRET })
  const urls = 'identity: { signed_urls: { secret: { vault: kv/signing }, routes: ["GET /v1/files/*"] } }'
  const file = fileOf(t, `${urls}\n${manager.yaml}\n${RECEIPTS}`)
  const address = 'https://models.example/v1/files/file-1/content'
  const args = ['sign-url', address, file, '--key', 'caller']
  const { stdout } = await command(args, { env: ENV })
  const expires = new Date(Number(new URL(stdout.trim()).searchParams.get('gateway_expires')) * 1000)
  t.equal(stdout.trim(), signUrl(address, { key: 'caller', secret: SECRET, expires }))
  manager.isAway = true
  t.match(await command(args, { env: ENV }), { code: 1, stdout: '', stderr: /could not be fetched/ })
  t.same(manager.asked.items, ['/v1/kv/signing', '/v1/kv/signing'])
})

t.test('captured content is decrypted with the key of the manager', async t => {
  const manager = await startManager(t, { receipts: SECRET, north: SECRET })
  const yaml = `version: 1\n${REST}${manager.yaml}\n${RECEIPTS}\n`
  const gateway = await startTestGateway(t, yaml, { env: ENV })
  const body = { model: 'sim-a', messages: [{ role: 'user', content: 'a thing that is kept' }] }
  const id = (await gateway.request('/v1/chat/completions', { body })).header('x-request-id') ?? ''
  await gateway.gateway.close()
  const args = ['receipts', 'show', id, join(gateway.folder, 'gateway.yaml'), '--content']
  t.match(await command(args, { env: ENV }), { code: 0, stdout: 'a thing that is kept' })
  manager.isAway = true
  t.match(await command(args, { env: ENV }), { code: 1, stderr: /the key of captured content is missing/ })
})
