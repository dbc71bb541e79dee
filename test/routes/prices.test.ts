import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import type { Price } from '../../src/core/bounds.js'
import { packageRoot } from '../../src/core/package-root.js'
import { tryLoad } from '../config/support.js'

const shipped = packageRoot()

async function shippedPrices(): Promise<Readonly<Record<string, Price>>> {
  const { config, text } = await tryLoad(t, 'version: 1\nledger: {}\n', { shipped })
  t.notMatch(text, 'prices')
  return config?.accounting?.shippedPrices ?? {}
}

t.test('every entry of the shipped prices is read, and the day of the last check is one', async t => {
  const { checked, prices } = parse(readFileSync(join(shipped, 'routes/prices/models.yaml'), 'utf8'))
  t.same(Object.keys(await shippedPrices()), Object.keys(prices))
  t.not(Number.isNaN(Date.parse(checked)), true)
})

t.test('tokens of a cache cost less than others, and those of an answer no less than those of a request', async t => {
  for (const [name, { input, cached, cache_write, output }] of Object.entries(await shippedPrices())) {
    if (input !== undefined && cached !== undefined) t.ok(cached < input, `${name}: cached`)
    if (input !== undefined && cache_write !== undefined) t.ok(cache_write >= input, `${name}: cache_write`)
    if (input !== undefined && output !== undefined) t.ok(output >= input, `${name}: output`)
  }
})

t.test('no glob of the shipped prices hides a name behind it', async t => {
  const names = Object.keys(await shippedPrices())
  for (const [index, name] of names.entries()) {
    const hiding = names.slice(0, index).find(one => one.endsWith('*') && name.startsWith(one.slice(0, -1)))
    // An exact name wins over every glob.
    t.ok(hiding === undefined || !name.endsWith('*'), `${name} is behind ${hiding}`)
  }
})
