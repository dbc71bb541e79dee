import t from 'tap'
import { nameOf, type TaskKind } from '../../../simulator/src/tasks/task.js'
import { fc } from '../../helpers/property.js'
import { simulator } from '../support.js'

const SUBMITS = [
  ...['/v1/videos', '/v1/video/generations', '/v1/videos/generations', '/v1/text_to_video', '/v1/image_to_video'],
  '/v1beta/models/sim-video:predictLongRunning',
  ...['imagine', 'change', 'simple-change', 'action', 'describe', 'blend', 'shorten', 'modal', 'edits', 'video'].map(
    what => `/mj/submit/${what}`,
  ),
  ...['/mj/insight-face/swap', '/mj/task/list-by-condition'],
]
const MEMBERS = [
  ...['model', 'prompt', 'seconds', 'size', 'input_reference', 'duration', 'width', 'height', 'metadata', 'resolution'],
  ...[
    'promptText',
    'ratio',
    'promptImage',
    'instances',
    'parameters',
    'taskId',
    'action',
    'index',
    'customId',
    'content',
  ],
  ...['base64', 'base64Array', 'dimensions', 'botType', 'state', 'ids', 'image', 'sourceBase64', '__proto__'],
]

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('sim-video?polls=0', 'x --sim polls=0', 'x --ar 0:9 --sim', '\u{d800}', 'UPSCALE', 1e300, -0, '1 U1'),
)

t.test('every request has an answer of the protocol, and nothing breaks', async t => {
  const upstream = await simulator(t)
  const body = fc.dictionary(fc.constantFrom(...MEMBERS), value, { maxKeys: 6 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...SUBMITS), body, async (path, asked) => {
      const answer = await fetch(`${upstream.origin}${path}`, { method: 'POST', body: JSON.stringify(asked) })
      await answer.arrayBuffer()
      return answer.status < 500
    }),
    { numRuns: 400 },
  )
  t.same(
    upstream.received.flatMap(({ problem }) => problem ?? []),
    [],
  )
})

const KINDS: readonly TaskKind[] = ['video', 'relayed', 'deferred', 'pipeline', 'operation', 'imagine']

t.test('no name of a task breaks anything, valid or not', async t => {
  const upstream = await simulator(t)
  const task = fc.record({
    kind: fc.constantFrom(...KINDS),
    model: fc.constantFrom('sim-video', 'sim-imagine'),
    asked: fc.constantFrom('polls=0', 'polls=0&ends=failed', 'stall', 'lost', 'poll.status=503'),
    prompt: fc.string({ unit: 'grapheme', maxLength: 300 }),
    started: fc.constant(0),
    serial: fc.nat(9),
    seed: fc.constant('0123456789abcdef'),
    facts: fc.constant({ width: 64, height: 64, seconds: 1, action: 'IMAGINE' }),
  })
  const sealed = task.map(each => nameOf(each, each.kind === 'imagine' ? 'digits' : 'letters'))
  const named = fc.oneof(sealed, fc.string({ unit: 'binary', maxLength: 40 }), fc.json())
  const around = fc.constantFrom(
    ...(['/v1/videos/video_#', '/v1/videos/task_#/content', '/v1/videos/#', '/v1/video/generations/task_#'] as const),
    ...(['/v1/tasks/#', '/v1beta/models/a/operations/#', '/v1beta/files/#:download?alt=media'] as const),
    ...(['/results/#/film.mp4', '/mj/task/#/fetch', '/mj/task/#/image-seed', '/mj/image/#', '/mj/video/#'] as const),
  )
  await fc.assert(
    fc.asyncProperty(around, named, async (path, name) => {
      const answer = await fetch(`${upstream.origin}${path.replace('#', () => encodeURIComponent(name))}`)
      await answer.arrayBuffer()
      // 503 is the fault that some of these tasks ask for.
      return answer.status < 500 || answer.status === 503
    }),
    { numRuns: 400 },
  )
  t.same(
    upstream.received.flatMap(({ problem }) => problem ?? []),
    [],
  )
})
