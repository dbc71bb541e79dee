import { inSlices, type Steps } from '../../core/steps.js'
import { CALLERS } from '../../features/keys/callers.js'
import { isKeyName, type KeyTerms, type StoredKey } from '../../features/keys/record.js'
import type { KeyCursor } from '../../features/keys/stored-keys.js'
import type { AdminHost, Page } from '../host.js'
import { changedView, fileView, KEY, mustFit, NEW_KEY, storedView, TERMS } from '../key-view.js'
import { limitOf, PAGE_QUERY, pageOf } from '../pages.js'
import { AdminError, type AdminRoute, objectOf, TEXT } from '../route.js'

export const listKeys: AdminRoute = {
  method: 'GET',
  path: '/admin/keys',
  summary: "Callers' keys: those of the file in its order, then those of the store by age.",
  query: PAGE_QUERY,
  status: 200,
  answer: pageOf(KEY),
  async handle(request, host) {
    const limit = limitOf(request)
    const { after } = request.query
    const cursor = after === undefined ? undefined : cursorOf(after)
    if (cursor !== undefined) return await storedPage(host, limit, cursor)
    const names = Object.keys(host.config.keys)
    const start = after === undefined ? 0 : names.indexOf(after.slice(FILE_MARK.length)) + 1
    if (after !== undefined && (start === 0 || !after.startsWith(FILE_MARK)))
      throw new AdminError(400, 'invalid_parameter', 'after: expected `next` of a page before')
    const page = names.slice(start, start + limit)
    const data = page.flatMap(name => {
      const key = host.config.keys[name]
      return key === undefined ? [] : [fileView(name, key, host)]
    })
    if (page.length === limit) return { data, next: `${FILE_MARK}${page.at(-1)}` }
    const rest = await storedPage(host, limit - page.length)
    return { ...rest, data: [...data, ...rest.data] }
  },
}

export const createKey: AdminRoute = {
  method: 'POST',
  path: '/admin/keys',
  summary: 'Creates a key in the store. Its secret is in this answer alone.',
  body: objectOf({ name: TEXT, ...TERMS }, ['name']),
  status: 201,
  answer: NEW_KEY,
  async handle({ body: { name, ...terms } }, host) {
    if (typeof name !== 'string' || !isKeyName(name)) {
      const message = 'name: expected letters, digits, dots, underscores and dashes, a letter or digit first'
      throw new AdminError(400, 'invalid_request', message)
    }
    mustFit(name, terms as KeyTerms, host)
    const callers = host.kernel.need(CALLERS)
    const made = await callers.stored.create(name, terms as KeyTerms)
    if (made === undefined) throw new AdminError(409, 'conflict', 'the store has a key of that name')
    await callers.refresh()
    return { ...changedView(made.key, host), secret: made.secret.reveal() }
  },
}

/** Before the name of a key of the file, in cursors. */
const FILE_MARK = 'file:'

async function storedPage(host: AdminHost, limit: number, after?: KeyCursor): Promise<Page<object>> {
  const found = await host.kernel.need(CALLERS).stored.list(limit, after)
  const last = found.at(-1)
  const next = last === undefined || found.length < limit ? {} : { next: `store:${last.created}:${last.name}` }
  return { data: await inSlices(viewing(found, host)), ...next }
}

function* viewing(keys: readonly StoredKey[], host: AdminHost): Steps<readonly object[]> {
  const views: object[] = []
  for (const key of keys) {
    views.push(storedView(key, host))
    yield
  }
  return views
}

function cursorOf(text: string): KeyCursor | undefined {
  const [, created, name = ''] = /^store:(\d{1,15}):(.{1,128})$/.exec(text) ?? []
  return created === undefined ? undefined : { created: Number(created), name }
}
