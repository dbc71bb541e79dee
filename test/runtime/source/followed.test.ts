import { PassThrough } from 'node:stream'
import t from 'tap'
import { FollowedSource } from '../../../src/runtime/source/followed.js'
import type { RemoteSource } from '../../../src/runtime/source/remote.js'
import { openLog } from '../../../src/sinks/log.js'
import { Journal } from '../../helpers/journal.js'

t.test('a document whose reload failed is tried again, although the address has nothing new', async t => {
  const asked = new Journal<boolean>('requests')
  const reloads = new Journal<string>('reloads')
  const remote = {
    name: 'https://example.com/gateway.yaml',
    poll: 1,
    ask: async () => {
      const isNew = asked.items.length === 0
      asked.push(isNew)
      return isNew
    },
  }
  const source = new FollowedSource(remote as unknown as RemoteSource, {
    log: openLog({ level: 'error', format: 'json' }, new PassThrough().resume()),
    health: {},
    onCount: () => undefined,
    reload: async () => {
      const isGood = reloads.items.length === 2
      reloads.push(isGood ? 'good' : 'bad')
      if (!isGood) throw new Error('a worker cannot prepare it')
    },
  })
  t.teardown(() => source.close())
  source.follow()
  await reloads.count(3)
  const then = asked.items.length
  await asked.count(then + 3)
  t.same(reloads.items, ['bad', 'bad', 'good'])
})
