// Many tasks in a store without as many requests: copies of two that a gateway has written, put there by the store's own
// interface.
import { createHash } from 'node:crypto'

const DAY = 24 * 3_600_000
/** Whose tasks they are; the first one is the key of the bench. */
const OWNERS = ['bench', ...Array.from({ length: 49 }, (_, n) => `owner${n}`)]
const NAMESPACE = 'tasks-video'

/** The id of the task of that number: the same in every run, and in no order. */
export const taskId = n => `task_${createHash('sha256').update(String(n)).digest('hex').slice(0, 32)}`

/** Numbers of open tasks that the key of the bench has. */
export const ownNumbers = most => Array.from({ length: Math.floor(most / OWNERS.length) }, (_, n) => n * OWNERS.length)

/** What is in the store of a gateway for tasks of these ids. */
export async function templatesOf(store, ids) {
  return await Promise.all(
    Object.entries(ids).map(async ([name, id]) => {
      const record = await store.get(NAMESPACE, OWNERS[0], id)
      return [name, JSON.parse(Buffer.from(record.value).toString())]
    }),
  ).then(Object.fromEntries)
}

/** `open`, `finished`: how many; `due`: when the open one of that number is due. */
export async function seed(store, templates, { open = 0, finished = 0, due, atOnce = 500 }) {
  const began = Date.now()
  let next = 0
  const work = async () => {
    while (next < open + finished) await store.create(draft(next++))
  }
  const draft = n => {
    const isOpen = n < open
    const task = isOpen ? templates.open : templates.finished
    const age = isOpen ? (n % 600) * 1000 : (n % 36_000) * 1000
    const moved = {
      id: taskId(n),
      owner: OWNERS[n % OWNERS.length],
      created: began - age,
      deadline: began - age + DAY,
      ...(isOpen ? {} : { finished: began - age + 1000, expires: began - age + DAY }),
    }
    return {
      namespace: NAMESPACE,
      owner: moved.owner,
      key: moved.id,
      created: moved.created,
      expires: moved.created + 3 * DAY,
      ...(isOpen ? { due: due(n, began) } : {}),
      value: Buffer.from(JSON.stringify({ ...task, ...moved })),
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}
