// Operations on tiles that have no layout rule.
// RUN: tilewright-opt %s --split-input-file --tw-assign-layouts --verify-diagnostics

module attributes {tw.num_warps = 1 : i32} {
  func.func @operation(%x: tensor<64xf32>) {
    // expected-error @below {{no layout rule for this operation on tiles}}
    %0 = builtin.unrealized_conversion_cast %x : tensor<64xf32> to tensor<64xi32>
    return
  }
}

// -----

module attributes {tw.num_warps = 1 : i32} {
  func.func @controlFlow(%i: index) {
    %x = tw.range 0 to 64 : tensor<64xi32>
    // expected-error @below {{no layout rule for this control flow on tiles}}
    %0 = scf.index_switch %i -> tensor<64xi32>
    case 0 {
      scf.yield %x : tensor<64xi32>
    }
    default {
      scf.yield %x : tensor<64xi32>
    }
    return
  }
}
