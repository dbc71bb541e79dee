import t from 'tap'
import { inTime } from '../helpers/journal.js'
import { ends, isUnconfirmed, listed, settledTwice } from '../helpers/kill-checks.js'
import { killStage } from '../helpers/kill-stage.js'
import { plain } from '../helpers/kill-ways.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import { type Write, watchWrites } from '../helpers/store-writes.js'

// F-T1 seen from the store: the gateway is killed at the writes of a task, one after the other, from the record that
// is before its upstream is asked to the notification that has left it. A write is cut off before the server of the
// store gets it, or it is done and the gateway never hears of it.

const TIMES = Number(process.env.KILLS ?? 1)
t.setTimeout(180_000 + TIMES * 600_000)
t.jobs = 3

/** Writes for a film: the intent, its target, its acceptance, three polls, the notification, and that it is queued. */
const WRITES: readonly Write[] = [1, 2, 3, 4, 5, 6, 7, 8].flatMap(n => [
  { n, how: 'cut' } as const,
  { n, how: 'done' } as const,
])
/** The first of them decide what anyone knows; the rest is for the long run. */
const USUAL = WRITES.filter(
  ({ n, how }) => (n <= 3 && how === 'done') || (n === 3 && how === 'cut') || (n === 7 && how === 'cut'),
)
/** A file is changed several times for each of them. */
const CHANGES: readonly Write[] = Array.from({ length: 16 }, (_, n) => ({ n: n + 1, how: 'done' }))

for (const kind of DURABLE) {
  const store = storesOf(t, kind)
  const all = kind.type === 'file' ? CHANGES : WRITES
  const usual = kind.type === 'file' ? CHANGES.filter(({ n }) => n % 3 === 1) : USUAL
  const writes = TIMES > 1 ? all : usual
  t.test(
    `F-T1 killed at ${writes.length} writes, ${TIMES} times each (${kind.type})`,
    { skip: kind.skip, buffered: true },
    async t => {
      const watched = await watchWrites(t, await store(t))
      const stage = await killStage(t, watched.store)
      const { lives, upstream } = stage
      await lives.begin()
      const tasks: { readonly name: string; readonly id: string | undefined }[] = []
      for (let round = 1; round <= TIMES; round++) {
        for (const { n, how } of writes) {
          const name = `write-${n}-${how}.${round}`
          const reached = watched.at(`name:${name} `, { n, how })
          const begun = plain(stage, name)
          await inTime(reached, () => `${name}: never written`)
          await lives.kill()
          await lives.begin()
          const id = await begun
          const known = (await listed(stage)).filter(({ prompt }) => prompt.startsWith(`name:${name} `))
          const submits = upstream.submits.get(name) ?? 0
          t.ok(submits <= 1, `${name}: submitted once, or not at all`)
          // What the upstream has is known. What never reached it may be, until it is removed.
          const never = id === undefined && submits === 0
          t.ok(known.length === 1 || (never && known.length === 0), `${name}: known`)
          if (id !== undefined) t.equal(known[0]?.id, id, `${name}: by the id that its client got`)
          tasks.push({ name, id })
        }
      }
      t.comment(`${lives.kills} kills`)
      const films = await ends(stage)
      for (const { name, id } of tasks) {
        const found = films.filter(({ prompt }) => prompt.startsWith(`name:${name} `))
        const [film] = found
        const never = id === undefined && upstream.submits.get(name) === undefined
        const well = film?.status === 'completed' || (id === undefined && film !== undefined && isUnconfirmed(film))
        t.ok(found.length === 1 ? well : found.length === 0 && never, `${name}: ${JSON.stringify(found)}`)
        if (film !== undefined) await stage.told.find(told => told.name === name)
        t.ok((upstream.submits.get(name) ?? 0) <= 1, `${name}: and never again`)
      }
      await lives.kill()
      t.same(settledTwice(stage), [], 'each is settled once')
    },
  )
}
