import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { derivedId, isOwnId, itemId, newId } from '../../src/kernel/own-ids.js'

t.test('ids that are made here are recognized, of every kind', async t => {
  const ids = [newId('resp_'), newId('conv_'), itemId('message'), itemId('odd'), derivedId('reasoning', 'resp_1', 3)]
  for (const id of ids) {
    t.match(id, /^[a-z]+_[0-9a-f]{32}$/)
    t.ok(isOwnId(id), id)
  }
})

t.test('ids of the same form that others make are not', async t => {
  const digit = (id: string): string => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0')
  t.equal(isOwnId(digit(newId('resp_'))), false)
  for (const id of [
    '',
    'resp_',
    'resp_1',
    'resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b',
    `${newId('resp_')}0`,
  ])
    t.equal(isOwnId(id), false, id)
  const others = Array.from({ length: 100 }, () => [
    `resp_${randomUUID().replaceAll('-', '')}`,
    `msg_${randomBytes(16).toString('hex')}`,
  ]).flat()
  // One in 65,536 has the mark by chance.
  t.ok(others.filter(isOwnId).length <= 1)
})
