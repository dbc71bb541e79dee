import t from 'tap'
import { images, imagesByGenerate } from '../../../src/codecs/images/index.js'
import { type Shapes, shapeOf } from '../../../src/codecs/images/shape.js'
import type { ImageRequest } from '../../../src/core/image.js'
import { fc } from '../../helpers/property.js'
import { smallTarget } from '../small-target.js'

const SHAPES: Shapes = {
  aspects: ['1:1', '3:4', '4:3', '9:16', '16:9'],
  resolutions: [
    ['1K', 1024],
    ['2K', 2048],
  ],
}

const asked = (more: Partial<ImageRequest>): ImageRequest => ({
  ...{ model: 'm', prompt: 'x', stream: false, left: [] },
  ...more,
})

/** What is asked for, and whether the client is told of a difference. */
function shaped(more: Partial<ImageRequest>): readonly [object, string | undefined] {
  let told: string | undefined
  const target = {
    ...smallTarget(imagesByGenerate.client.carries).target,
    lose: (_: string, __?: string, why?: string) => (told = why),
  }
  return [shapeOf(asked(more), SHAPES, target as never), told]
}

const size = (width: number, height: number): Partial<ImageRequest> => ({ size: { width, height } })

t.test('pixels become the nearest shape, and what is another one is reported', async t => {
  t.same(shaped({}), [{}, undefined])
  t.same(shaped(size(1024, 1024)), [{ aspect: '1:1' }, undefined])
  t.same(shaped(size(1280, 720)), [{ aspect: '16:9' }, undefined])
  t.same(shaped(size(2048, 2048)), [{ aspect: '1:1', resolution: '2K' }, undefined])
  t.same(shaped(size(768, 1024)), [{ aspect: '3:4' }, undefined])
  t.match(shaped(size(1792, 1024)), [{ aspect: '16:9' }, 'the nearest is 16:9 with sides of 1K'])
  t.match(shaped(size(256, 256)), [{ aspect: '1:1' }, 'the nearest is 1:1 with sides of 1K'])
  t.match(shaped(size(9000, 9000)), [{ aspect: '1:1', resolution: '2K' }, 'the nearest is 1:1 with sides of 2K'])
  t.match(shaped(size(99999, 1)), [{ aspect: '16:9' }, String])
})

t.test('a ratio and a resolution go as they are', async t => {
  t.same(shaped({ aspect: '21:9', resolution: '4K' }), [{ aspect: '21:9', resolution: '4K' }, undefined])
})

t.test('of all sizes the shape is one that there is', async () => {
  const side = fc.integer({ min: 1, max: 99_999 })
  fc.assert(
    fc.property(side, side, (width, height) => {
      const [shape] = shaped(size(width, height)) as [{ aspect: string; resolution?: string }, unknown]
      return SHAPES.aspects.includes(shape.aspect) && [undefined, '2K'].includes(shape.resolution)
    }),
  )
})

t.test('a ratio becomes the nearest of the sizes that most models have', async t => {
  for (const [aspect, expected] of [
    ['1:1', '1024x1024'],
    ['16:9', '1536x1024'],
    ['3:4', '1024x1536'],
    ['x', undefined],
    ['1:0', undefined],
  ] as const) {
    const body = images.client.encodeRequest(asked({ aspect }), smallTarget(images.client.carries).target)
    t.equal(body.size, expected, aspect)
  }
})
