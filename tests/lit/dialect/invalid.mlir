// One function per message of the verifiers.
// RUN: tilewright-opt %s -split-input-file -verify-diagnostics

func.func @range_length() {
  // expected-error @+1 {{result has 8 elements, the bounds give 4}}
  %0 = tw.range 0 to 4 : tensor<8xi32>
  return
}

// -----

func.func @range_type() {
  // expected-error @+1 {{result must be a 1-D tile of i32}}
  %0 = tw.range 0 to 4 : tensor<4xi64>
  return
}

// -----

func.func @splat_type(%x: f32) {
  // expected-error @+1 {{source is 'f32', result elements are 'f16'}}
  %0 = tw.splat %x : f32 -> tensor<4xf16>
  return
}

// -----

func.func @expand(%x: tensor<8xf32>) {
  // expected-error @+1 {{axis 2 is outside 0 to 1}}
  %0 = tw.expand_dims %x, 2 : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{only extents of 1 stretch}}
  %0 = tw.broadcast %x : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reshape(%x: tensor<4xf32>) {
  // expected-error @+1 {{element counts differ: 4 and 8}}
  %0 = tw.reshape %x : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @permute(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{order is not a permutation}}
  %0 = tw.permute %x [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @join(%x: tensor<4xf32>) {
  // expected-error @+1 {{the joined tile must add a last extent of 2}}
  %0 = tw.join %x, %x : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @load_pointee(%p: tensor<8x!tw.ptr<f32>>) {
  // expected-error @+1 {{pointee is 'f32', value elements are 'f16'}}
  %0 = tw.load %p : tensor<8x!tw.ptr<f32>> -> tensor<8xf16>
  return
}

// -----

func.func @load_mask(%p: tensor<8x!tw.ptr<f32>>, %m: tensor<4xi1>) {
  // expected-error @+1 {{shapes of pointer, value and mask differ}}
  %0 = tw.load %p mask %m : tensor<4xi1> : tensor<8x!tw.ptr<f32>> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_axis(%x: tensor<8xf32>) {
  // expected-error @+1 {{axis 1 is outside rank 1}}
  %0 = tw.reduce %x axis 1 {
  ^bb0(%a: f32, %b: f32):
    tw.yield %a : f32
  } : (tensor<8xf32>) -> f32
  return
}

// -----

func.func @reduce_result(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result does not drop axis 1}}
  %0 = tw.reduce %x axis 1 {
  ^bb0(%a: f32, %b: f32):
    tw.yield %a : f32
  } : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @bitcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{widths differ: 32 and 16 bits}}
  %0 = tw.bitcast %x : tensor<4xf32> -> tensor<4xf16>
  return
}

// -----

func.func @convert_layout(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs layouts on both sides}}
  %0 = tw.convert_layout %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @map_arguments(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{region has 1 arguments, 2 are required}}
  %0 = tw.map %x pack 2 {
  ^bb0(%a: f32):
    tw.yield %a, %a : f32, f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @map_element(%x: tensor<8xf32>) -> tensor<8xf64> {
  // expected-error @+1 {{region has a 'f32' for an element of 'tensor<8xf64>'}}
  %0 = tw.map %x pack 1 {
  ^bb0(%a: f32):
    tw.yield %a : f32
  } : (tensor<8xf32>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// -----

func.func @map_shape(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{tiles differ in shape: 'tensor<8xf32>' and 'tensor<16xf32>'}}
  %0 = tw.map %x pack 1 {
  ^bb0(%a: f32):
    tw.yield %a : f32
  } : (tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @expand_elements(%x: tensor<8xf32>) {
  // expected-error @+1 {{element types differ: 'f32' and 'f16'}}
  %0 = tw.expand_dims %x, 0 : tensor<8xf32> -> tensor<1x8xf16>
  return
}

// -----

func.func @expand_elsewhere(%x: tensor<8xf32>) {
  // expected-error @+1 {{result shape does not insert a 1 at axis 0}}
  %0 = tw.expand_dims %x, 0 : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{ranks differ: 1 and 2}}
  %0 = tw.broadcast %x : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @permute_rank(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{order has 1 entries for rank 2}}
  %0 = tw.permute %x [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @permute_extent(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result extent}}
  %0 = tw.permute %x [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @split_types(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{result types differ}}
  %0, %1 = tw.split %x : tensor<8x2xf32> -> tensor<8xf32>, tensor<8xf16>
  return
}

// -----

func.func @concat_extent(%x: tensor<8xf32>) {
  // expected-error @+1 {{result must double the first extent}}
  %0 = tw.concat %x, %x : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @no_source() {
  // expected-error @+1 {{needs at least one source}}
  "tw.reduce"() ({
    "tw.yield"() : () -> ()
  }) {axis = 0 : i32} : () -> ()
  return
}

// -----

func.func @scan_region_argument(%x: tensor<8xf32>) {
  // expected-error @+1 {{region argument 1 is 'i32', elements are 'f32'}}
  %0 = tw.scan %x axis 0 reverse {
  ^bb0(%a: f32, %b: i32):
    tw.yield %a : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @scan_yield(%x: tensor<8xf32>) {
  // expected-error @+1 {{region must yield 1 values}}
  %0 = tw.scan %x axis 0 reverse {
  ^bb0(%a: f32, %b: f32):
    tw.yield %a, %b : f32, f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @no_layouts(%x: tensor<8xf32>) {
  // expected-error @+1 {{needs layouts on both sides, got 'tensor<8xf32>'}}
  %0 = tw.convert_layout %x : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @slot_of_a_ring(%r: !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>, 2>, %i: i32) {
  // expected-error @+1 {{result must be one slot of}}
  %0 = tw.buffer_slot %r[%i] : !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>, 2> -> !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>, 2>
  return
}

// -----

func.func @tile_and_memory(%m: !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>>, %x: tensor<8xf16>) {
  // expected-error @+1 {{tile and memory differ}}
  tw.shared_store %x, %m : tensor<8xf16>, !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>>
  return
}

// -----

func.func @copy_of_no_pointers(%m: !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>>, %x: tensor<8xf32>) {
  // expected-error @+1 {{needs a tile of pointers, got 'tensor<8xf32>'}}
  tw.async_copy %x, %m : tensor<8xf32>, !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>>
  return
}

// -----

func.func @ring_of_another_kind() {
  // expected-error @+1 {{has an unknown fill or release in tw.ring}}
  %0 = tw.alloc_shared {tw.ring = {fill = "nothing", release = "barrier"}} : !tw.buffer<8xf32, #tw.shared<offset = [1, 2, 4]>>
  return
}

// -----

#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
func.func @ring_without_a_known_release() {
  // expected-error@+1 {{has an unknown fill or release in tw.ring: {fill = "tma", release = "soon"}}}
  %ring = tw.alloc_shared {tw.ring = {fill = "tma", release = "soon"}} : !tw.buffer<32xf32, #s, 2>
  return
}

// -----

func.func @range_of_two_dimensions() {
  // expected-error @+1 {{result must be a 1-D tile of i32, got 'tensor<2x2xi32>'}}
  %0 = tw.range 0 to 4 : tensor<2x2xi32>
  return
}

// -----

func.func @other_without_a_mask(%p: tensor<8x!tw.ptr<f32>>, %o: tensor<8xf32>) {
  // expected-error @+1 {{`other` needs a mask}}
  %0 = "tw.load"(%p, %o) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<8x!tw.ptr<f32>>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @scan_of_two_shapes(%x: tensor<8xf32>, %y: tensor<16xf32>) {
  // expected-error @+1 {{sources differ in shape: 'tensor<8xf32>' and 'tensor<16xf32>'}}
  %0, %1 = tw.scan %x, %y axis 0 {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    tw.yield %a, %b : f32, f32
  } : (tensor<8xf32>, tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>)
  return
}

// -----

func.func @map_without_a_yield(%x: tensor<8xf32>) {
  // expected-error @+1 {{region must end in tw.yield}}
  %0 = "tw.map"(%x) ({
  ^bb0(%a: f32):
    "func.return"() : () -> ()
  }) {pack = 1 : i32} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @join_types(%x: tensor<8xf32>, %y: tensor<8xf16>) {
  // expected-error @+1 {{failed to verify that all of {lhs, rhs} have same type}}
  %0 = "tw.join"(%x, %y) : (tensor<8xf32>, tensor<8xf16>) -> tensor<8x2xf32>
  return
}

// -----

func.func @product_ranks(%a: tensor<16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{ranks must be equal, 2 or 3; got 1, 2 and 2}}
  %0 = tw.dot %a, %b, %c : tensor<16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----

func.func @product_warps(%a: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{warps has 1 entries for rank 2}}
  %0 = tw.dot %a, %a, %c {warps = array<i32: 2>} : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  return
}

// -----

#s = #tw.shared<offset = [1, 2, 4]>
func.func @shared_product_warps(%a: !tw.buffer<2x4xf32, #s>, %b: !tw.buffer<4x2xf32, #s>, %c: tensor<2x2xf32>) {
  // expected-error @+1 {{warps has 3 entries for rank 2}}
  %0 = tw.shared_dot %a, %b, %c warps [1, 0, 0] : !tw.buffer<2x4xf32, #s>, !tw.buffer<4x2xf32, #s>, tensor<2x2xf32>
  return
}

// -----

#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
func.func @wgmma_warps(%a: !tw.buffer<64x4xf16, #s>, %c: tensor<64x4xf32>) {
  // expected-error @+1 {{warps has 1 entries for rank 2}}
  %0 = tw.wgmma %a, %a, %c warps [2] : !tw.buffer<64x4xf16, #s>, !tw.buffer<64x4xf16, #s>, tensor<64x4xf32>
  return
}

// -----

#s = #tw.shared<offset = [1, 2, 4, 8, 16]>
func.func @permuted_to_another_shape(%m: !tw.buffer<4x8xf32, #s>) {
  // expected-error @+1 {{order does not give '!tw.buffer<4x8xf32, #tw.shared<offset = [1, 2, 4, 8, 16]>>' from}}
  %0 = tw.buffer_permute %m [1, 0] : !tw.buffer<4x8xf32, #s> -> !tw.buffer<4x8xf32, #s>
  return
}

// -----

func.func @index_of_floats(%x: tensor<8xf32>) {
  // expected-error @+1 {{needs i32 or i64 as index, got 'tensor<8xf32>'}}
  %0 = tw.gather %x[%x] axis 0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_outside(%x: tensor<8xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{has no axis 1 of 'tensor<8xi32>'}}
  %0 = tw.gather %x[%i] axis 1 : tensor<8xf32>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_of_other_rows(%x: tensor<4x8xf32>, %i: tensor<2x8xi32>) {
  // expected-error @+1 {{index and source differ beside the axis: 'tensor<2x8xi32>'}}
  %0 = tw.gather %x[%i] axis 1 : tensor<4x8xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  return
}

// -----

func.func @counted_floats(%x: tensor<8xf32>) {
  // expected-error @+1 {{counts rows of i32 or i64, got 'tensor<8xf32>'}}
  %0 = tw.histogram %x : tensor<8xf32> -> tensor<4xi32>
  return
}

// -----

func.func @counted_into_longs(%x: tensor<8xi32>) {
  // expected-error @+1 {{counts into a row of i32}}
  %0 = tw.histogram %x : tensor<8xi32> -> tensor<4xi64>
  return
}

// -----

func.func @counted_by_other_masks(%x: tensor<8xi32>, %m: tensor<4xi1>) {
  // expected-error @+1 {{has 'tensor<4xi1>' as mask of 'tensor<8xi32>'}}
  %0 = tw.histogram %x mask %m : tensor<4xi1> : tensor<8xi32> -> tensor<4xi32>
  return
}

// -----

#n = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 17]>
func.func @counted_in_a_swizzle(%x: tensor<32xi32, #n>, %m: !tw.buffer<32xi32, #s>) {
  // expected-error @+1 {{counts in a row without swizzle, got '!tw.buffer<32xi32}}
  tw.shared_count %x, %m : tensor<32xi32, #n>, !tw.buffer<32xi32, #s>
  return
}
