import { TASK_MEMBERS, type TaskKind } from '../../../core/task.js'
import type { Face, Variant } from './face.js'
import { common, lengthOf, objectFace, textsOf } from './object.js'

/** Members that are lengths, which records show in one form. */
const LENGTHS: ReadonlySet<string> = new Set(['seconds', 'duration'])

/**
 * A kind of tasks without a record of its own: as videos, with the members of the request that {@link TASK_MEMBERS} names, and
 * the further values that are declared for its upstreams.
 */
function plain(kind: TaskKind, title: string, variants: ReadonlyMap<string, Variant>): Face {
  const texts = TASK_MEMBERS[kind].filter(name => !LENGTHS.has(name))
  return objectFace({
    object: kind,
    title,
    variants,
    input: member => ({ ...textsOf(member, texts), ...lengthOf(member) }),
    record: task => {
      const { error, ...rest } = common(task, kind)
      return { ...rest, ...task.input, ...task.fields, error: error ?? null }
    },
  })
}

/** Speech, music and other sound. */
export const audio = plain(
  'audio',
  'Audio',
  new Map([
    ['audio', { fits: /^(audio\/|application\/ogg$)/, type: 'audio/mpeg' }],
    ['image', { fits: /^image\//, type: 'image/jpeg' }],
    ['text', { fits: /^(text\/|application\/(json|x-subrip)$)/, type: 'text/plain' }],
  ]),
)

/** Whatever else is made: of any type but pages, which are what servers show where something is wrong. */
export const media = plain(
  'media',
  'Media',
  new Map([['content', { fits: /^(?!text\/html$)[^/]+\//, type: 'application/octet-stream' }]]),
)
