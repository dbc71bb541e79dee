import { execFileSync, spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Answered, ask, awayStage, nothingLost, type Process, taken } from '../helpers/away-stage.js'
import { fillDisk, smallDisk, withoutSmallDisk } from '../helpers/small-disk.js'
import { storeYaml, temporary } from '../helpers/store-kinds.js'
import { FILM } from '../helpers/task-upstream.js'

// What becomes of tasks while the file that they are kept in cannot grow: on a disk that is full, and where the process may
// write no longer files.

t.setTimeout(120_000)

/** A folder whose disk can be filled, and given room again, while a gateway runs on it. */
interface Disk {
  readonly path: string
  fill(gateway: Process): void
  free(gateway: Process): void
}

function tmpfs(t: Test): Disk {
  const path = smallDisk(t, '8m')
  let free = (): void => undefined
  return {
    path,
    fill: () => {
      free = fillDisk(path)
    },
    free: () => free(),
  }
}

const withoutLimits = has('prlimit') ? false : 'there is no prlimit on this machine'

function has(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
}

function limited(t: Test): Disk {
  const path = temporary(t)
  const limit = ({ bin }: Process, bytes: number | 'unlimited'): void => {
    execFileSync('prlimit', ['--pid', `${bin.child.pid}`, `--fsize=${bytes}:`], { stdio: 'ignore' })
  }
  return {
    path,
    fill: gateway => limit(gateway, statSync(join(path, 'store', 'data.mdb')).size),
    free: gateway => limit(gateway, 'unlimited'),
  }
}

for (const [name, make, skip] of [
  ['a full disk', tmpfs, withoutSmallDisk],
  ['a limit on the length of files', limited, withoutLimits],
] as const) {
  t.test(
    `F-S6 tasks and ${name}: reading continues, nothing is begun, all is well once there is space`,
    { skip },
    async t => {
      const disk = make(t)
      const stage = await awayStage(t, storeYaml({ type: 'file', path: disk.path }), 1)
      const { processes, images, notifications, polls, begin, finish, hold } = stage
      const [gateway] = processes as [Process]
      const begun = new Map<string, string>()
      const note = ({ status, json }: Answered): string => {
        t.equal(status, 200, JSON.stringify(json))
        begun.set(json.id, json.prompt)
        return json.id
      }
      const ended = note(await begin(gateway, 'ended'))
      await polls.find(({ id }) => id === 'vid_1')
      finish()
      await taken(processes, ended)
      const open = note(await begin(gateway, 'open'))
      const image = (await ask(gateway, '/mj/submit/imagine', { prompt: 'open' })).json.result
      await polls.find(({ id }) => id === 'vid_2')
      // What a poll says may still be on its way to the disk.
      while ((await ask(gateway, `/v1/videos/${open}`)).json.status !== 'in_progress') await turn()

      disk.fill(gateway)
      // There may be room left inside of the file. Who has been answered by the upstream waits for room to write that down.
      const waiting: Promise<Answered>[] = []
      const refusals: Answered[] = []
      for (let n = 0; refusals.length < 3 && n < 500; n++) {
        const prompt = `${n} ${'x'.repeat(8000)}`
        const upstream = hold(prompt)
        upstream.answer()
        const beginning = begin(gateway, prompt)
        const refused = beginning.then(answer => (answer.status === 200 ? new Promise<never>(() => undefined) : answer))
        const first = await Promise.race([refused, upstream.asked])
        if (first === undefined) waiting.push(beginning)
        else refusals.push(first)
      }
      for (const refused of refusals)
        t.match(refused, { status: 503, wait: /\d/, json: { error: { message: /store/ } } })
      t.equal(refusals.length, 3)
      t.comment(`${waiting.length} were taken before`)
      const drawn = images.submits.length
      const refused = await ask(gateway, '/mj/submit/imagine', { prompt: 'x'.repeat(8000) })
      t.match(refused, { status: 503, wait: /\d/, json: { description: /store/, result: null } })
      t.equal(images.submits.length, drawn)
      t.equal(stage.begun().length, 2 + waiting.length, 'nothing was begun without a record')
      await gateway.bin.until(/is the disk full/)

      t.match(await ask(gateway, `/v1/videos/${open}`), { status: 200, json: { status: 'in_progress' } })
      t.match(await ask(gateway, `/mj/task/${image}/fetch`), { status: 200 })
      t.same((await ask(gateway, `/v1/videos/${ended}/content`)).json, FILM)
      t.match(await ask(gateway, '/v1/videos'), { status: 200 })
      const chat = { model: 'chat', messages: [{ role: 'user', content: 'x' }] }
      t.equal((await ask(gateway, '/v1/chat/completions', chat)).status, 200)
      t.match(await ask(gateway, '/readyz'), { status: 200 })
      finish()

      disk.free(gateway)
      for (const answer of await Promise.all(waiting)) note(answer)
      finish()
      const again = note(await begin(gateway, 'again'))
      await polls.find(({ id }) => id === `vid_${stage.begun().length}`)
      finish()
      for (const id of begun.keys()) await notifications.find(({ body }) => JSON.parse(body).data.id === id)
      for (const id of begun.keys()) await taken(processes, id)
      t.match(await ask(gateway, `/v1/videos/${again}`), { json: { status: 'completed' } })
      while ((await ask(gateway, `/mj/task/${image}/fetch`)).json.status !== 'SUCCESS') await turn()
      await nothingLost(t, stage, begun)
    },
  )
}
