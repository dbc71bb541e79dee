import { createRequire } from 'node:module'
import t from 'tap'
import { Client as OfPackage, Pool as PoolOfPackage } from 'undici'
import { Client, Pool } from '../../src/net/undici.js'

t.test('what is loaded by its file is what the package exports', async t => {
  t.equal(Client, OfPackage)
  t.equal(Pool, PoolOfPackage)
  t.type(Client.prototype.request, 'function')
})

t.test('the version is pinned, because its files may move', async t => {
  const { dependencies } = createRequire(import.meta.url)('../../../package.json')
  t.match(dependencies.undici, /^\d+\.\d+\.\d+$/)
})
