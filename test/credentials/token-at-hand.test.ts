import { join } from 'node:path'
import t from 'tap'
import type { Placement } from '../../src/core/placement.js'
import { openSigner } from '../../src/credentials/open-signer.js'
import type { RequestSigner } from '../../src/net/signer.js'
import type { UpstreamRequest } from '../../src/transport/client/handler.js'

/** Prints another token each time. */
const command = [process.execPath, '-p', "'token/' + process.hrtime.bigint()"]
const outside = { timeoutMs: 10_000, egress: undefined, env: {} }
const plain = (): UpstreamRequest => ({ method: 'POST', path: '/v1/chat?a=1', headers: ['accept', '*/*'], body: null })

function signerFor(place: Placement): RequestSigner {
  const source = { type: 'exec', command, timeout: 10_000 } as const
  return openSigner(source, place, 'https://upstream.example', outside, () => undefined)
}

t.test('a token at hand is put into a request at once, and the request is left as it was', async t => {
  const signer = signerFor({ in: 'header', name: 'authorization', scheme: 'Bearer' })
  t.ok(signer.sign(plain()) instanceof Promise, 'there is none yet')
  await signer.prepare()
  const request = plain()
  const signed = signer.sign(request)
  if (signed instanceof Promise) return t.fail('it is signed at once')
  t.match(signed.headers, ['accept', '*/*', 'authorization', /^Bearer token\/\d+$/])
  t.same(request, plain())
})

t.test('a token in the query is encoded', async t => {
  const signer = signerFor({ in: 'query', name: 'api key' })
  await signer.prepare()
  t.match((await signer.sign(plain())).path, /^\/v1\/chat\?a=1&api%20key=token%2F\d+$/)
})

t.test('what is hidden is the token and the one before, plain and encoded: one list until a renewal', async t => {
  const signer = signerFor({ in: 'header', name: 'authorization' })
  t.same(signer.hidden, [])
  const first = await signer.sign(plain())
  const [, , , token = ''] = first.headers
  const { hidden } = signer
  t.same(hidden, [token, encodeURIComponent(token)])
  t.equal(signer.hidden, hidden)
  t.equal(await signer.renew(first), true)
  const [, , , next = ''] = (await signer.sign(plain())).headers
  t.not(next, token)
  t.same(signer.hidden, [next, encodeURIComponent(next), token, encodeURIComponent(token)])
})

t.test('a module that gives the same credential again has no other one', async t => {
  const folder = t.testdir({
    'same.mjs': `export const openCredential = () => ({ get: () => ({ token: globalThis.tokenOfTest }) })`,
  })
  const given = globalThis as unknown as { tokenOfTest: string }
  const source = {
    type: 'module',
    module: join(folder, 'same.mjs'),
    digest: 'x',
    options: {},
    timeout: 10_000,
  } as const
  const place = { in: 'header', name: 'x-key' } as const
  for (const next of ['first-token', 'second-token']) {
    const signer = openSigner(source, place, 'https://upstream.example', outside, () => undefined)
    given.tokenOfTest = 'first-token'
    const refused = await signer.sign(plain())
    given.tokenOfTest = next
    t.equal(await signer.renew(refused), next !== 'first-token')
    t.same([...new Set(signer.hidden)], [...new Set([next, 'first-token'])])
  }
})
