import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { StoreConfig } from '../../src/core/store-config.js'
import type { StoredKey } from '../../src/features/keys/record.js'
import { KeySecrets } from '../../src/features/keys/secrets.js'
import { StoredKeys } from '../../src/features/keys/stored-keys.js'
import { openStore } from '../../src/runtime/stores.js'
import { Bin } from '../cli/bin.js'
import { type KeyProcess, keyStage } from '../helpers/store-keys.js'
import { DURABLE, storeYaml } from '../helpers/store-kinds.js'
import { type Write, type WriteWatch, watchWrites } from '../helpers/store-writes.js'

// The commands that change keys of the store, killed at what they send to it, one after the other: afterwards the key is as
// it was before or as the command makes it, and never between, and a running gateway sees it as the store has it.

const ALL = Number(process.env.KILLS ?? 1) > 1
/** More than one command sends. The first is a question. */
const MAX_WRITES = 40
const MAX_TURNS = 30
t.setTimeout(ALL ? 900_000 : 240_000)
t.jobs = 3

const COMMANDS = ['create', 'revoke', 'rotate', 'limit'] as const
type Command = (typeof COMMANDS)[number]
const TERMS = { models: ['sim-*'], limits: { requests: '1000/min' } }
const ARGUMENTS: Readonly<Record<Command, readonly string[]>> = {
  create: ['--models', 'sim-*', '--requests', '1000/min'],
  revoke: [],
  rotate: [],
  limit: ['--requests', '2000/min'],
}

/** What a command is run on, past what stops it. */
interface Stage {
  readonly keys: StoredKeys
  readonly watched: WriteWatch
  /** The configuration that leads through the watch. */
  readonly file: string
  readonly gateway: KeyProcess
}

for (const kind of DURABLE) {
  t.test(
    `a command killed at each of its writes changes a key wholly or not at all (${kind.type})`,
    {
      ...{ skip: kind.skip, buffered: true },
    },
    async t => {
      const stage = await stageOf(t, await kind.make(t))
      // A write of a file cannot be cut off.
      const isServer = kind.type !== 'file'
      for (const command of COMMANDS) {
        const states = { before: 0, after: 0 }
        let turn = 0
        for (let n = ALL || !isServer ? 1 : 2; n <= MAX_WRITES; n += isServer || ALL ? 1 : 3) {
          const ways: readonly Write['how'][] = isServer && ALL ? ['cut', 'done'] : ['done']
          const ends: boolean[] = []
          for (const how of ways) {
            const { killed, after } = await round(t, stage, command, { n, how }, turn++)
            ends.push(!killed)
            if (killed) states[after ? 'after' : 'before']++
          }
          if (ends.every(ended => ended)) break
        }
        // A command may end before its change of the file is seen.
        while (!isServer && states.before + states.after === 0 && turn < MAX_TURNS) {
          const { killed, after } = await round(t, stage, command, { n: 1, how: 'done' }, turn++)
          if (killed) states[after ? 'after' : 'before']++
        }
        t.comment(`${kind.type}: ${command} killed: ${states.before} times before, ${states.after} after its change`)
        if (isServer) t.ok(states.before > 0 && states.after > 0, `${command} is killed on either side`)
        else t.ok(states.before + states.after > 0)
      }
    },
  )
}

async function stageOf(t: Test, config: StoreConfig): Promise<Stage> {
  const store = await openStore(config)
  t.teardown(() => store.close())
  const keys = new StoredKeys(store, new KeySecrets(store))
  await keys.create('first', TERMS)
  const direct = keyStage(t, storeYaml(config))
  const watched = await watchWrites(t, storeYaml(config))
  return { keys, watched, file: keyStage(t, watched.store).file, gateway: await direct.serve() }
}

/** Runs the command and kills it at that write, if it comes so far. */
async function round(t: Test, stage: Stage, command: Command, write: Write, turn: number) {
  const name = `${command}-${turn}`
  const { keys, watched, gateway } = stage
  const made = command === 'create' ? undefined : await keys.create(name, TERMS)
  const secret = made?.secret.reveal()
  if (secret !== undefined) t.equal(await gateway.reaches(200, secret), 200, `${name} works`)
  const reached = watched.at(name, write).then(() => true)
  const bin = new Bin(['keys', command, name, ...ARGUMENTS[command], '-f', stage.file, '--json'], {
    env: { CALLER_KEY: 'the-key-of-the-caller-0123456789' },
  })
  const killed = await Promise.race([reached, bin.ended.then(() => false)])
  bin.child.kill('SIGKILL')
  const { code, stderr } = await bin.ended
  // A change of a file is seen when it has been: the command may have ended.
  if (!killed) t.equal(code, 0, stderr)
  // In a file the next write shows what a process did that died just before it could say so.
  await keys.create(`${name}-next`, TERMS)
  const key = await keys.find(name)
  const after = isAfter(command, key, made?.key)
  t.same(
    key?.terms,
    command === 'limit' && after ? { ...TERMS, limits: { requests: '2000/min' } } : termsOf(command, after),
  )
  t.equal(key?.secrets.length ?? 1, 1, `${name} has one secret`)
  for (const { sha256 } of key?.secrets ?? []) t.same(await keys.findByDigest(sha256), key, `${name} has its secret`)
  if (secret !== undefined) {
    const isValid = !after || command === 'limit'
    t.equal((await keys.findByDigest(hash('sha256', secret))) !== undefined, isValid, `${name}: its former secret`)
    const status = isValid ? 200 : 401
    t.equal(await gateway.reaches(status, secret), status, `${name}: the gateway knows`)
  }
  // What was left behind does no harm.
  if (command === 'create' && !after) t.ok(await keys.create(name, TERMS), `${name} can be created`)
  else if (command === 'revoke' && after) t.ok(await keys.create(name, TERMS), `${name} can be created again`)
  else t.ok(await keys.revoke(name), `${name} can be revoked`)
  return { killed, after }
}

function isAfter(command: Command, key: StoredKey | undefined, before: StoredKey | undefined): boolean {
  if (command === 'create' || command === 'revoke') return (key !== undefined) === (command === 'create')
  if (command === 'limit') return JSON.stringify(key?.terms) !== JSON.stringify(before?.terms)
  return key?.secrets[0]?.sha256 !== before?.secrets[0]?.sha256
}

function termsOf(command: Command, after: boolean): StoredKey['terms'] | undefined {
  const isThere = command === 'create' ? after : command !== 'revoke' || !after
  return isThere ? TERMS : undefined
}
