import type { AdminHost, CheckedDraft } from '../host.js'
import { AdminError, type AdminRequest, type AdminRoute, COUNT, FLAG, objectOf, type Schema, TEXT } from '../route.js'

/** Largest draft of the file, bytes. */
const MAX_TEXT_BYTES = 2 * 1024 * 1024
const MAX_PROBLEMS = 200

/** `name`: from the folder of the source; that itself has none. */
const VERSION = { name: TEXT, text: TEXT, masked: FLAG }
const LIST: Schema = { type: 'array', items: { type: 'object' } }
const CHECKED = objectOf({ valid: FLAG, problems: LIST, changes: { type: 'object' }, difference: { type: 'object' } }, [
  'valid',
  'problems',
])

export const planFile: AdminRoute = {
  method: 'GET',
  path: '/admin/plan/file',
  summary:
    'The text of the configuration file, its digest, and whether this session may check drafts of it (check) and write it. Lines that may hold a secret are masked.',
  status: 200,
  answer: objectOf({ file: TEXT, text: TEXT, masked: FLAG, digest: TEXT, check: FLAG, write: FLAG }),
  async handle(request, host) {
    return { ...(await host.draft.file()), check: mayChange(request), write: mayWrite(request, host) }
  },
}

export const checkPlan: AdminRoute = {
  method: 'POST',
  path: '/admin/plan/check',
  summary:
    'Checks a draft of the configuration file as a reload would, and says what it would change by name (changes), and what that means for callers (difference). Nothing changes. Not for sessions that may only look: a draft reads variables and files.',
  body: objectOf({ text: TEXT }, ['text']),
  status: 200,
  answer: CHECKED,
  maxBytes: MAX_TEXT_BYTES,
  async handle(request, host) {
    // What is wrong with a line may quote it: who may not write it gets no line that is not shown.
    return answerOf(await host.draft.check(textOf(request), mayWrite(request, host)))
  },
}

export const applyPlan: AdminRoute = {
  method: 'POST',
  path: '/admin/plan/apply',
  summary:
    'Writes a draft to the configuration file and reloads it; needs admin: { write: true }. digest: of the file that the draft is made from. generation, in place of text: all files of the configuration say again what they said then. 409: the file has changed, or others that came later would be read, too. 422: it has errors, and nothing has changed. 500 not_written: a file cannot be written, and none has changed.',
  body: objectOf({ text: TEXT, generation: COUNT, digest: TEXT }, ['digest']),
  status: 200,
  answer: objectOf({ generation: COUNT, valid: FLAG, problems: LIST, changes: { type: 'object' } }),
  maxBytes: MAX_TEXT_BYTES,
  async handle(request, host) {
    const { digest, generation } = request.body
    if (!mayWrite(request, host))
      throw new AdminError(403, 'forbidden', 'the file can be written where it says admin: { write: true }')
    if (typeof digest !== 'string') throw new AdminError(400, 'invalid_request', 'digest: expected that of the file')
    if (generation !== undefined) await versionOf(generation, host)
    const done = await (typeof generation === 'number'
      ? host.draft.back(generation, digest)
      : host.draft.apply(textOf(request), digest))
    if (done === undefined) throw new AdminError(409, 'conflict', 'the file has changed since the draft was begun')
    const answer = answerOf(done)
    if (!done.isValid)
      throw new AdminError(422, 'invalid_configuration', 'it has errors, and nothing has changed', {
        problems: answer.problems,
      })
    return { generation: host.kernel.generation.number, ...answer }
  },
}

export const planVersion: AdminRoute = {
  method: 'GET',
  path: '/admin/generations/{generation}/file',
  summary:
    'What the configuration file, and the files that it includes, said at that generation. Lines that may hold a secret are masked.',
  status: 200,
  answer: objectOf({ ...VERSION, included: { type: 'array', items: objectOf(VERSION) } }),
  async handle({ params: { generation } }, host) {
    return await versionOf(Number(generation), host)
  },
}

async function versionOf(generation: unknown, host: AdminHost): Promise<object> {
  const found = typeof generation === 'number' ? await host.draft.version(generation) : undefined
  if (found === undefined) throw new AdminError(404, 'not_found', 'the text of this generation is no longer known')
  return found
}

function mayWrite(request: AdminRequest, { plan }: AdminHost): boolean {
  return plan.admin?.write === true && mayChange(request)
}

function mayChange({ session }: AdminRequest): boolean {
  return session?.role !== 'viewer'
}

function textOf({ body: { text } }: AdminRequest): string {
  if (typeof text !== 'string') throw new AdminError(400, 'invalid_request', 'text: expected the text of the file')
  return text
}

function answerOf({ isValid, problems, changes, difference }: CheckedDraft): { readonly problems: readonly object[] } {
  return {
    ...{ valid: isValid, changes },
    ...(difference !== undefined && { difference }),
    problems: problems.slice(0, MAX_PROBLEMS).map(({ position, path, message, severity }) => ({
      ...{ line: position.line, column: position.column, file: position.file },
      ...{ path, message, severity },
    })),
  }
}
