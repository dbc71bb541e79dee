import t from 'tap'
import { Blocked, MediaGuard } from '../../src/net/media-url.js'
import { addressesOf, NoAddress } from '../../src/net/resolve.js'

const { signal } = new AbortController()

t.test('a name that does not resolve is distinguished from a forbidden one, for any cause', async t => {
  const url = new URL('https://hooks.example.com/')
  for (const code of ['EAI_AGAIN', 'ENOTFOUND']) {
    const failing = async () => Promise.reject(Object.assign(new Error(code), { code }))
    const error = await addressesOf(url, signal, failing).catch((thrown: unknown) => thrown)
    t.ok(error instanceof NoAddress, code)
    t.ok(error instanceof Blocked, 'nothing is called there')
  }
  const guard = new MediaGuard({ allow: ['*'], http: false })
  t.throws(() => guard.addresses(url, ['10.0.0.1']), Blocked)
  try {
    guard.addresses(url, ['10.0.0.1'])
  } catch (error) {
    t.notOk(error instanceof NoAddress)
  }
})
