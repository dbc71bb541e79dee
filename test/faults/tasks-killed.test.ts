import t from 'tap'
import { ENDED, ends, type Film, isUnconfirmed, settledTwice } from '../helpers/kill-checks.js'
import { type KillStage, killStage } from '../helpers/kill-stage.js'
import { parentsOf, plain, WAYS, type Way } from '../helpers/kill-ways.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import { FILM } from '../helpers/task-upstream.js'

// F-T1: the gateway is killed at marked points of a task's way, and started again on the same store. The points are
// where someone outside of it has a request in hand: it is answered, half answered or not, and the process ends then and
// there. A kill finds one task at every mark, so that what takes over has all of them to bring to their ends.

/** How often the gateway is killed at each mark; the long run sets more. */
const TIMES = Number(process.env.KILLS ?? 1)
/** At how many marks a kill finds tasks: with 1 it finds one task at one mark. */
const TOGETHER = Number(process.env.KILLS_TOGETHER ?? WAYS.length)
t.setTimeout(180_000 + TIMES * 600_000)
t.jobs = 3

/** A task that has been at its mark. */
interface Begun {
  readonly way: Way
  readonly name: string
  /** The id, if its client got one. */
  readonly id: string | undefined
  /** Whether it stood there when the process ended; on a slow machine it may have gone on. */
  readonly stood: boolean
}

for (const kind of DURABLE) {
  const store = storesOf(t, kind)
  t.test(
    `F-T1 killed at ${WAYS.length} marks, ${TIMES} times each (${kind.type})`,
    { skip: kind.skip, buffered: true },
    async t => {
      const stage = await killStage(t, await store(t))
      const { lives } = stage
      await lives.begin()
      const tasks: Begun[] = []
      for (let round = 1; round <= TIMES; round++) {
        for (let from = 0; from < WAYS.length; from += TOGETHER) {
          const begun = await killed(stage, WAYS.slice(from, from + TOGETHER), round)
          tasks.push(...begun)
          t.same(await unknown(stage, begun), [], `round ${round}: every acknowledged task is known`)
          t.same(submittedTwice(stage, begun), [], `round ${round}: none is submitted twice`)
        }
      }
      t.comment(
        `${lives.kills} kills, ${tasks.filter(({ stood }) => stood).length} of ${tasks.length} tasks stood at their marks`,
      )
      const films = await ends(stage, new Set(tasks.filter(isLeftOpen).map(({ id }) => id)))
      for (const way of WAYS) {
        const wrong = await Promise.all(
          tasks.filter(task => task.way === way).map(task => wrongWith(stage, task, films)),
        )
        t.same(wrong.flat(), [], `${way.name}: as it should have ended`)
      }
      await lives.kill()
      t.same(settledTwice(stage), [], 'each is settled once')
      t.same(submittedTwice(stage, tasks), [], 'none was submitted again')
    },
  )
}

/** Brings a task to each mark, kills the gateway there, and starts it again: twice, where a mark says so. */
async function killed(stage: KillStage, ways: readonly Way[], round: number): Promise<readonly Begun[]> {
  const { marks, upstream, lives } = stage
  const parents = await parentsOf(stage, round)
  const going: { way: Way; name: string; id: Promise<string | undefined> }[] = []
  // No one stops for ever: those come last that have the shortest way.
  for (const turn of [1, 2, 3, 4]) {
    for (const way of ways.filter(way => way.turn === turn)) {
      const name = `${way.name}.${round}`
      if (way.mark !== undefined) marks.expect(name, way.mark)
      if (way.says !== undefined) upstream.says(name, way.says)
      going.push({ way, name, id: way.go(stage, name, parents) })
    }
    await marks.standing(going.flatMap(({ way, name }) => (way.mark === undefined ? [] : name)))
    await Promise.all(going.filter(({ way }) => way.mark === undefined).map(({ id }) => id))
  }
  const at = (twice: boolean): string[] => {
    return going.flatMap(({ way: { mark }, name }) => (mark && (mark.twice ?? false) === twice ? name : []))
  }
  const again = at(true)
  const stood = new Set(marks.release(at(false)))
  marks.again(again)
  // With each round the process gets a little further with the answers.
  if (round % 8 > 1) await new Promise(resolve => setTimeout(resolve, round % 8))
  await lives.kill()
  await lives.begin()
  if (again.length > 0) {
    await marks.standing(again)
    for (const name of marks.release(again)) stood.add(name)
    await lives.kill()
    await lives.begin()
  }
  const begun = going.map(async ({ way, name, id }) => {
    return { way, name, id: await id, stood: way.mark === undefined || stood.has(name) }
  })
  return await Promise.all(begun)
}

const isFilm = ({ name }: Way): boolean => !/^(image|imagine|action)-/.test(name)

/** Tasks that their clients know, and the gateway does not. */
async function unknown({ ask }: KillStage, tasks: readonly Begun[]): Promise<readonly string[]> {
  const looked = tasks.map(async ({ way, name, id }) => {
    if (id === undefined) return []
    const answer = await ask('GET', isFilm(way) ? `/v1/videos/${id}` : `/mj/task/${id}/fetch`)
    const wanted = way.ends === 'deleted' ? 404 : 200
    return answer?.status === wanted ? [] : [`${name} ${id}: ${answer?.status}`]
  })
  return (await Promise.all(looked)).flat()
}

function submittedTwice({ upstream }: KillStage, tasks: readonly Begun[]): readonly string[] {
  return tasks.flatMap(({ name }) => ((upstream.submits.get(name) ?? 0) > 1 ? [name] : []))
}

/** The gateway waited too long for the answer to a submit. Its task stays open for minutes, in case one arrives. */
function isLeftOpen({ way: { mark }, id, stood }: Begun): boolean {
  return id !== undefined && !stood && mark?.at === 'submit'
}

/** What is wrong with how a task ended; nothing where it is as it should be. */
async function wrongWith(stage: KillStage, begun: Begun, films: readonly Film[]): Promise<readonly string[]> {
  const { way, name, id } = begun
  const submits = stage.upstream.submits.get(name) ?? 0
  const found = films.filter(({ prompt }) => prompt.startsWith(`name:${name} `))
  const about = [`${name} ${id}: ${submits} submits, ${JSON.stringify(found)}`]
  switch (way.ends) {
    case 'nothing':
      return submits === 0 && found.length === 0 ? [] : about
    case 'refused':
      return submits === 1 && found.every(film => isUnconfirmed(film)) ? [] : about
    case 'deleted': {
      // Who was killed before there was an answer has to ask again.
      const wanted = way.mark?.how === 'held' ? 2 : 1
      const asked = await stage.marks.seen.count(wanted, seen => seen === `${name} delete`)
      return found.length === 0 && asked.length >= wanted ? [] : about
    }
  }
  if (submits !== 1) return about
  if (isLeftOpen(begun)) return []
  // Clients whose notification was being sent when the process ended get it again.
  const tellings = way.mark?.at === 'told' && way.mark.how === 'held' ? 2 : 1
  await stage.told.count(tellings, told => told.name === name && ENDED.has(told.status))
  const last = await stage.told.find(told => told.name === name && ENDED.has(told.status))
  if (!isFilm(way)) return isImageRight(begun, JSON.parse(last.body)) ? [] : [last.body]
  const [film] = found
  if (film === undefined || found.length > 1 || (id ?? film.id) !== film.id) return about
  if (way.go === plain && (await plain(stage, name)) !== film.id) return [`${name}: its client's own key`]
  // Whether the upstream has it no one knows; it is not asked again.
  if (id === undefined && isUnconfirmed(film)) return []
  if (way.ends !== 'completed') return film.error?.code === way.ends.code ? [] : about
  if (film.status !== 'completed') return about
  const content = await stage.ask('GET', `/v1/videos/${film.id}/content`)
  return content !== undefined && FILM.equals(Buffer.from(await content.arrayBuffer())) ? [] : [`${name}: its content`]
}

function isImageRight({ id }: Begun, record: { readonly id: string; readonly status: string }): boolean {
  if (id === undefined) return record.status === 'SUCCESS' || record.status === 'FAILURE'
  return record.id === id && record.status === 'SUCCESS'
}
