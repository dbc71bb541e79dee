import t from 'tap'
import { images, imagesByChat, imagesByGenerate } from '../../../src/codecs/images/index.js'
import { predict } from '../../../src/codecs/predict/index.js'
import { imageContract } from '../contract-images.js'

for (const codec of [images, predict, imagesByGenerate, imagesByChat]) {
  t.test(`images by ${codec.protocol}`, t => {
    imageContract(t, codec)
    t.end()
  })
}
