import t from 'tap'
import { isAccount } from '../../../src/core/accounts.js'
import { accountName } from '../../../src/features/limits/account.js'
import { Windows } from '../../../src/features/limits/windows.js'

const DIGEST = /^~[\w-]{43}$/
const minute = new Windows('UTC').at('minute', Date.UTC(2026, 10, 23, 10, 41))
const nameOf = (name: string): string => accountName({ type: 'upstream', name }, 'tokens', 'minute', minute)
const REST = ' tokens minute 2026-11-23T10:41'

t.test('a name that fits stays as it is in that of its account, with other characters percent-encoded', async t => {
  for (const [name, shown] of [
    ['alice', 'alice'],
    ['a'.repeat(128), 'a'.repeat(128)],
    ['Ann 100%', 'Ann%20100%25'],
    ['名'.repeat(52), '%E5%90%8D'.repeat(52)],
  ] as const)
    t.equal(nameOf(name), `upstream:${shown}${REST}`)
})

t.test('every name makes one of an account that stores take: a long one ends with a digest', async t => {
  const names = [
    'a'.repeat(129),
    '名'.repeat(53),
    '名'.repeat(60),
    '😀'.repeat(64),
    '名'.repeat(5000),
    '\ud83d'.repeat(128),
  ]
  for (const name of names) {
    const account = nameOf(name)
    t.ok(isAccount(account), account)
    t.match(account.slice(account.indexOf('~'), -REST.length), DIGEST)
    t.not(nameOf(`${name}2`), account)
  }
})
