// Programs of several blocks.
// RUN: tilewright-opt %s --tw-emit-ptx=target=sm_90a | FileCheck %s

#a = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [], block = [128]>
#b = #tw.layout<register = [1, 128], lane = [4, 8, 16, 32, 64], warp = [], block = [2]>

// Programs are clusters. A reduction sends its part to both blocks, by two lanes, and
// waits for two parts of 4 bytes; a conversion reads the other block's memory after a barrier of
// both.
// CHECK-LABEL: .entry reduce
// CHECK: %cluster_ctarank
// CHECK: mbarrier.init.shared::cta.b64 [{{.*}}], 1
// CHECK: fence.mbarrier_init.release.cluster
// CHECK: barrier.cluster.arrive.relaxed.aligned
// CHECK: %clusterid.x
// CHECK: ld.global
// CHECK: barrier.cluster.wait.aligned
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [{{.*}}], 8;
// CHECK: @%p{{[0-9]+}} st.async.shared::cluster.mbarrier::complete_tx::bytes.b32
// CHECK: mbarrier.try_wait.parity
// CHECK: barrier.cluster.arrive.aligned
// CHECK: barrier.cluster.wait.aligned
// CHECK: mapa.shared::cluster.u32
// CHECK: ld.shared::cluster
// CHECK: barrier.cluster.wait.aligned
module attributes {tw.num_warps = 1 : i32, tw.num_ctas = 2 : i32, tw.shared_bytes = 1040 : i32} {
  func.func @reduce(%p: !tw.ptr<f32>) {
    %ring = tw.mbarrier_alloc 1 {tw.exchange = 1 : i32, tw.scratch_offset = 1032 : i32} : !tw.mbarrier<1>
    tw.cluster_arrive
    %id = tw.program_id 0 : i32
    %row = tw.addptr %p, %id : !tw.ptr<f32>, i32
    %r = tw.range 0 to 256 : tensor<256xi32, #a>
    %s = tw.splat %row : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #a>
    %q = tw.addptr %s, %r : tensor<256x!tw.ptr<f32>, #a>, tensor<256xi32, #a>
    %x = tw.load %q : tensor<256x!tw.ptr<f32>, #a> -> tensor<256xf32, #a>
    tw.cluster_wait
    %sum = tw.reduce %x axis 0 {
    ^bb0(%l: f32, %u: f32):
      %c = arith.addf %l, %u : f32
      tw.yield %c : f32
    } {tw.scratch_offset = 1024 : i32, tw.exchange = 0 : i32} : (tensor<256xf32, #a>) -> f32
    %all = tw.splat %sum : f32 -> tensor<256xf32, #a>
    %y = arith.addf %x, %all : tensor<256xf32, #a>
    %z = tw.convert_layout %y {tw.scratch_offset = 0 : i32} : tensor<256xf32, #a> -> tensor<256xf32, #b>
    %rb = tw.range 0 to 256 : tensor<256xi32, #b>
    %sb = tw.splat %row : !tw.ptr<f32> -> tensor<256x!tw.ptr<f32>, #b>
    %qb = tw.addptr %sb, %rb : tensor<256x!tw.ptr<f32>, #b>, tensor<256xi32, #b>
    tw.store %qb, %z : tensor<256x!tw.ptr<f32>, #b>, tensor<256xf32, #b>
    tw.barrier all_blocks
    return
  }
}
