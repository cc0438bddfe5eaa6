// Why a load of a loop is not copied ahead.
// RUN: tilewright-opt --split-input-file --tw-print-loop-schedule --verify-diagnostics %s -o /dev/null

#line = #tw.layout<register = [1, 2], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#flat = #tw.layout<register = [1, 2, 0, 0], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#row = #tw.layout<register = [1, 2, 0, 0], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#rows = #tw.layout<register = [1, 2, 512, 1024], lane = [4, 8, 16, 32, 64], warp = [128, 256], block = []>
#short = #tw.layout<register = [], lane = [1, 2, 4, 8, 16], warp = [32, 0], block = []>
module attributes {tw.num_warps = 4 : i32} {
  // Each access must be seen by memory.
  func.func @seen(%p: tensor<512x!tw.ptr<f32>, #line>, %n: i32) -> tensor<512xf32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    // expected-remark @below {{schedule: none}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #line>) : i32 {
      // expected-remark @below {{schedule: it is volatile}}
      %x = tw.load %p {isVolatile, tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      scf.yield %next : tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #line>
  }

  // Who looks a place up and asserts that it is one wants to read so, not of a fault. The place
  // itself is copied ahead.
  func.func @asserted(%p: tensor<512x!tw.ptr<f32>, #line>, %places: tensor<512x!tw.ptr<i32>, #line>, %m: tensor<512xi32, #line>, %n: i32) -> tensor<512xf32, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    // expected-remark @below {{schedule: stream, 2 ahead}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf32, #line>) : i32 {
      %off = tw.splat %k : i32 -> tensor<512xi32, #line>
      %at = tw.addptr %places, %off : tensor<512x!tw.ptr<i32>, #line>, tensor<512xi32, #line>
      %place = tw.load %at {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<i32>, #line> -> tensor<512xi32, #line>
      %c = arith.cmpi slt, %place, %m : tensor<512xi32, #line>
      tw.assert %c, "in range" : tensor<512xi1, #line>
      %a = tw.addptr %p, %place : tensor<512x!tw.ptr<f32>, #line>, tensor<512xi32, #line>
      // expected-remark @below {{schedule: an assertion of the loop may be about its address}}
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      scf.yield %next : tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf32, #line>
  }

  func.func @narrow(%p: tensor<512x!tw.ptr<f16>, #line>, %n: i32) -> tensor<512xf16, #line> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf16, #line>
    // expected-remark @below {{schedule: none}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<512xf16, #line>) : i32 {
      // expected-remark @below {{schedule: accesses of 2 bytes; cp.async needs 4}}
      %x = tw.load %p : tensor<512x!tw.ptr<f16>, #line> -> tensor<512xf16, #line>
      %next = arith.addf %sum, %x : tensor<512xf16, #line>
      scf.yield %next : tensor<512xf16, #line>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<512xf16, #line>
  }

  func.func @stored(%p: tensor<512x!tw.ptr<f32>, #line>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{schedule: none}}
    scf.for %k = %c0 to %n step %c1 : i32 {
      // expected-remark @below {{schedule: the loop may store to what it loads}}
      %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %x, %x : tensor<512xf32, #line>
      tw.store %p, %next : tensor<512x!tw.ptr<f32>, #line>, tensor<512xf32, #line>
    } {tw.loop_stages = 3 : i32}
    return
  }

  // What another program has written before it changed the flag must be loaded after it.
  func.func @ordered(%p: tensor<512x!tw.ptr<f32>, #line>, %flag: !tw.ptr<i32>, %n: i32) -> (tensor<512xf32, #line>, i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<512xf32, #line>
    // expected-remark @below {{schedule: none}}
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero, %before = %c0) -> (tensor<512xf32, #line>, i32) : i32 {
      %found = tw.atomic_rmw <add>, <acquire>, <gpu>, %flag, %c1 : !tw.ptr<i32>, i32
      // expected-remark @below {{schedule: an atomic of the loop orders what it loads}}
      %x = tw.load %p {tw.vector_elements = 4 : i32} : tensor<512x!tw.ptr<f32>, #line> -> tensor<512xf32, #line>
      %next = arith.addf %sum, %x : tensor<512xf32, #line>
      scf.yield %next, %found : tensor<512xf32, #line>, i32
    } {tw.loop_stages = 3 : i32}
    return %r#0, %r#1 : tensor<512xf32, #line>, i32
  }

  // Not copied: a register is enough.
  func.func @short(%p: tensor<64x!tw.ptr<f32>, #short>, %n: i32) -> tensor<64xf32, #short> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<64xf32, #short>
    // expected-remark @below {{schedule: early loads, 2 ahead}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64xf32, #short>) : i32 {
      // expected-remark @+2 {{schedule: it has fewer elements than the block has threads}}
      // expected-remark @below {{schedule: loaded ahead, into registers}}
      %x = tw.load %p : tensor<64x!tw.ptr<f32>, #short> -> tensor<64xf32, #short>
      %next = arith.addf %sum, %x : tensor<64xf32, #short>
      scf.yield %next : tensor<64xf32, #short>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<64xf32, #short>
  }

  // All rows have the addresses of one.
  func.func @repeated(%p: !tw.ptr<f32> {tw.divisibility = 16 : i64}, %n: i32) -> tensor<4x512xf32, #rows> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.0> : tensor<4x512xf32, #rows>
    %range = tw.range 0 to 512 : tensor<512xi32, #flat>
    %columns = tw.expand_dims %range, 0 : tensor<512xi32, #flat> -> tensor<1x512xi32, #row>
    // expected-remark @below {{schedule: early loads, 2 ahead}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<4x512xf32, #rows>) : i32 {
      %ps = tw.splat %p : !tw.ptr<f32> -> tensor<4x512x!tw.ptr<f32>, #rows>
      %all = tw.broadcast %columns : tensor<1x512xi32, #row> -> tensor<4x512xi32, #rows>
      %a = tw.addptr %ps, %all : tensor<4x512x!tw.ptr<f32>, #rows>, tensor<4x512xi32, #rows>
      // expected-remark @+2 {{schedule: several elements of it have one address}}
      // expected-remark @below {{schedule: loaded ahead, into registers}}
      %x = tw.load %a {tw.vector_elements = 4 : i32} : tensor<4x512x!tw.ptr<f32>, #rows> -> tensor<4x512xf32, #rows>
      %next = arith.addf %sum, %x : tensor<4x512xf32, #rows>
      scf.yield %next : tensor<4x512xf32, #rows>
    } {tw.loop_stages = 3 : i32}
    return %r : tensor<4x512xf32, #rows>
  }
}

// -----

#p = #tw.layout<register = [1, 2, 4], lane = [8, 16, 32, 64, 128], warp = [], block = []>
#a = #tw.layout<register = [1, 128, 8], lane = [2, 4, 16, 32, 64], warp = [], block = []>
#b = #tw.layout<register = [16, 128, 8], lane = [32, 64, 1, 2, 4], warp = [], block = []>
#s = #tw.shared<offset = [1, 2, 4, 8, 16, 32, 64, 128]>
#t = #tw.shared<offset = [16, 32, 64, 128, 1, 2, 4, 8]>
module attributes {tw.num_warps = 1 : i32, tw.num_stages = 3 : i32} {
  // cp.async leaves zeros where a mask is false, and other threads read them.
  func.func @filled(%x: tensor<16x16x!tw.ptr<f16>, #p>, %m: tensor<16x16xi1, #p>, %right: tensor<16x16xf16, #b>, %n: i32, %zero: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant dense<1.0> : tensor<16x16xf16, #p>
    // expected-remark @below {{schedule: none}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #a>) : i32 {
      // expected-remark @below {{schedule: `other` is not zero}}
      %v = tw.load %x mask %m : tensor<16x16xi1, #p> other %one : tensor<16x16xf16, #p> {tw.vector_elements = 8 : i32} : tensor<16x16x!tw.ptr<f16>, #p> -> tensor<16x16xf16, #p>
      %t = tw.alloc_shared %v : tensor<16x16xf16, #p> -> : !tw.buffer<16x16xf16, #s>
      %left = tw.shared_load %t : !tw.buffer<16x16xf16, #s> -> tensor<16x16xf16, #a>
      %d = tw.dot %left, %right, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x16xf16, #a>, tensor<16x16xf16, #b>, tensor<16x16xf32, #a>
      scf.yield %d : tensor<16x16xf32, #a>
    }
    return %r : tensor<16x16xf32, #a>
  }

  // Neighbours of a row lie apart in the buffer, and cp.async copies four bytes at least.
  func.func @columns(%x: tensor<16x16x!tw.ptr<f16>, #p>, %right: tensor<16x16xf16, #b>, %n: i32, %zero: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{schedule: none}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #a>) : i32 {
      // expected-remark @below {{schedule: the product does not take the bytes in the order of memory}}
      %v = tw.load %x {tw.vector_elements = 8 : i32} : tensor<16x16x!tw.ptr<f16>, #p> -> tensor<16x16xf16, #p>
      %t = tw.alloc_shared %v : tensor<16x16xf16, #p> -> : !tw.buffer<16x16xf16, #t>
      %left = tw.shared_load %t : !tw.buffer<16x16xf16, #t> -> tensor<16x16xf16, #a>
      %d = tw.dot %left, %right, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x16xf16, #a>, tensor<16x16xf16, #b>, tensor<16x16xf32, #a>
      scf.yield %d : tensor<16x16xf32, #a>
    }
    return %r : tensor<16x16xf32, #a>
  }

  // TMA writes rows in its own swizzle, which this buffer has not.
  func.func @plain_rows(%x: !tw.descriptor<16x16xf16>, %right: tensor<16x16xf16, #b>, %n: i32, %zero: tensor<16x16xf32, #a>) -> tensor<16x16xf32, #a> {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // expected-remark @below {{schedule: none}}
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<16x16xf32, #a>) : i32 {
      // expected-remark @below {{schedule: the product does not take the bytes in the order of memory}}
      %v = tw.descriptor_load %x[%k, %c0] : <16x16xf16> -> tensor<16x16xf16, #p>
      %t = tw.alloc_shared %v : tensor<16x16xf16, #p> -> : !tw.buffer<16x16xf16, #s>
      %left = tw.shared_load %t : !tw.buffer<16x16xf16, #s> -> tensor<16x16xf16, #a>
      %d = tw.dot %left, %right, %sum {unit = #tw.unit<mma>, warps = array<i32: 0, 0>} : tensor<16x16xf16, #a>, tensor<16x16xf16, #b>, tensor<16x16xf32, #a>
      scf.yield %d : tensor<16x16xf32, #a>
    }
    return %r : tensor<16x16xf32, #a>
  }
}
